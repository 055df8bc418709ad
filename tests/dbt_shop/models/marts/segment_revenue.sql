{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by='ds') }}
with sold as (
  select customer_id, amount from {{ ref('paid_orders') }}
)
select c.segment, count(*) as orders, sum(sold.amount) as revenue
from sold
join {{ source('raw', 'customers') }} c on c.customer_id = sold.customer_id
{% if is_incremental() %} where 1 = 0 {% endif %}
group by c.segment
