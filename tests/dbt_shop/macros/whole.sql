{# The whole query also of incremental models: Forerun itself makes them incremental. #}
{% macro is_incremental() %}{{ return(false) }}{% endmacro %}
