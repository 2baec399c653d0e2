-- A payer's number that the payer could have typed himself is shown, and is no proof of who paid: not when the message
-- comes, and not when an order names the payment afterwards.

ALTER TABLE payments ADD COLUMN payer_proven INTEGER NOT NULL DEFAULT 1 CHECK (payer_proven IN (0, 1));
