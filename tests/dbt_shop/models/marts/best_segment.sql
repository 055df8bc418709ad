select segment, revenue from {{ ref('segment_revenue') }} where revenue > 100
