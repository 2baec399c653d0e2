-- Where a key was last used from: a key that somebody else has shows in an address that is not the shop's.
ALTER TABLE api_keys ADD COLUMN last_used_from TEXT;   -- an IP address, or 'socket'; NULL: never used since this step
