-- Bodies (object, metadata, request, body, proof) are sealed, or have the byte 0 in front of clear text. Times are in
-- milliseconds since 1970. A response has a larger key than the response that it continues.
-- Responses with a request are to be made, those with the smallest place first.
-- What continues a compacted response needs only its output. What continues a conversation needs its items from start_item
-- on.

-- +goose Up
CREATE TABLE seal_keys (
	id    TEXT PRIMARY KEY,
	proof BLOB NOT NULL
);

CREATE TABLE conversations (
	key        INTEGER PRIMARY KEY AUTOINCREMENT,
	tenant     BLOB    NOT NULL,
	id         TEXT    NOT NULL,
	created_at INTEGER NOT NULL,
	metadata   BLOB    NOT NULL,
	bytes      INTEGER NOT NULL DEFAULT 0,
	start_item INTEGER NOT NULL DEFAULT 0,
	lock_owner TEXT    NOT NULL DEFAULT '',
	lock_until INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX conversations_by_id ON conversations (tenant, id);

CREATE TABLE responses (
	key          INTEGER PRIMARY KEY AUTOINCREMENT,
	tenant       BLOB    NOT NULL,
	id           TEXT    NOT NULL,
	previous     INTEGER,
	conversation INTEGER,
	created_at   INTEGER NOT NULL,
	expires_at   INTEGER NOT NULL,
	status       TEXT    NOT NULL,
	background   BOOLEAN NOT NULL DEFAULT FALSE,
	streamed     BOOLEAN NOT NULL DEFAULT FALSE,
	chain_bytes  INTEGER NOT NULL,
	chain_turns  INTEGER NOT NULL,
	compacted    BOOLEAN NOT NULL DEFAULT FALSE,
	object       BLOB    NOT NULL,
	request      BLOB,
	place        INTEGER NOT NULL DEFAULT 0,
	owner        TEXT    NOT NULL DEFAULT '',
	lease_until  INTEGER NOT NULL DEFAULT 0,
	begun        BOOLEAN NOT NULL DEFAULT FALSE,
	cancelled    BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE UNIQUE INDEX responses_by_id ON responses (tenant, id);
CREATE INDEX responses_by_previous ON responses (previous) WHERE previous IS NOT NULL;
CREATE INDEX responses_by_conversation ON responses (conversation) WHERE conversation IS NOT NULL;
CREATE INDEX responses_streamed ON responses (created_at) WHERE streamed;
CREATE INDEX responses_by_expiry ON responses (expires_at);
CREATE INDEX responses_running ON responses (place, key) WHERE request IS NOT NULL;
CREATE INDEX responses_of_tenant ON responses (tenant, place) WHERE request IS NOT NULL;

CREATE TABLE items (
	key          INTEGER PRIMARY KEY AUTOINCREMENT,
	tenant       BLOB    NOT NULL,
	id           TEXT    NOT NULL,
	type         TEXT    NOT NULL,
	response     INTEGER,
	conversation INTEGER,
	output       BOOLEAN NOT NULL,
	bytes        INTEGER NOT NULL,
	body         BLOB    NOT NULL
);
CREATE INDEX items_by_id ON items (tenant, id);
CREATE INDEX items_by_response ON items (response, key) WHERE response IS NOT NULL;
CREATE INDEX items_by_conversation ON items (conversation, key) WHERE conversation IS NOT NULL;

CREATE TABLE events (
	response INTEGER NOT NULL,
	first    INTEGER NOT NULL,
	last     INTEGER NOT NULL,
	body     BLOB    NOT NULL,
	PRIMARY KEY (response, first)
) WITHOUT ROWID;

-- Answers to questions for approval that have been used.
CREATE TABLE approvals (
	tenant  BLOB NOT NULL,
	id      TEXT NOT NULL,
	used_at INTEGER NOT NULL,
	PRIMARY KEY (tenant, id)
);

-- +goose Down
DROP TABLE approvals;
DROP TABLE events;
DROP TABLE items;
DROP TABLE responses;
DROP TABLE conversations;
DROP TABLE seal_keys;
