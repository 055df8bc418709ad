-- orders that count
select order_id, customer_id, status, amount
from {{ source('raw', 'orders') }}
where status <> 'returned'
