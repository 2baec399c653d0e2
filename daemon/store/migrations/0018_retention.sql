-- What is pruned is found from an index, oldest first, however much there is (decisions.md section 10). An emptied message
-- keeps its row, because payments, balances and reviews point at it, and its parts keep their digests, so that an SMS that
-- comes back is still known.

CREATE INDEX attempts_by_age ON attempts (started_at);
CREATE INDEX deliveries_by_age ON deliveries (created_at);
CREATE INDEX deliveries_with_response ON deliveries (created_at) WHERE response_body IS NOT NULL;
CREATE INDEX dead_letters_with_response ON dead_letters (failed_at) WHERE last_response_body IS NOT NULL;
CREATE INDEX messages_with_text ON messages (created_at) WHERE body IS NULL OR body <> '';
CREATE INDEX notice_sends_ended ON notice_sends (queued_at) WHERE due_at IS NULL;
