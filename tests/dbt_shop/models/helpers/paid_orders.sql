select * from {{ ref('stg_orders') }} where status = 'paid'
