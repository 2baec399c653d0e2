-- What is due is looked up endpoint by endpoint (deliveries_waiting), so this index only made each delivery dearer.
DROP INDEX deliveries_due;
