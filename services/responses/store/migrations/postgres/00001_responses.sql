-- Bodies (object, metadata, request, body, proof) are sealed, or have the byte 0 in front of clear text. Times are in
-- milliseconds since 1970. A response has a larger key than the response that it continues.
-- Responses with a request are to be made, those with the smallest place first.
-- What continues a compacted response needs only its output. What continues a conversation needs its items from start_item
-- on.

-- +goose Up
CREATE TABLE seal_keys (
	id    TEXT PRIMARY KEY,
	proof BYTEA NOT NULL
);

CREATE TABLE conversations (
	key        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant     BYTEA    NOT NULL,
	id         TEXT    NOT NULL,
	created_at BIGINT NOT NULL,
	metadata   BYTEA    NOT NULL,
	bytes      BIGINT NOT NULL DEFAULT 0,
	start_item BIGINT NOT NULL DEFAULT 0,
	lock_owner TEXT    NOT NULL DEFAULT '',
	lock_until BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX conversations_by_id ON conversations (tenant, id);

CREATE TABLE responses (
	key          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant       BYTEA    NOT NULL,
	id           TEXT    NOT NULL,
	previous     BIGINT,
	conversation BIGINT,
	created_at   BIGINT NOT NULL,
	expires_at   BIGINT NOT NULL,
	status       TEXT    NOT NULL,
	background   BOOLEAN NOT NULL DEFAULT FALSE,
	streamed     BOOLEAN NOT NULL DEFAULT FALSE,
	chain_bytes  BIGINT NOT NULL,
	chain_turns  BIGINT NOT NULL,
	compacted    BOOLEAN NOT NULL DEFAULT FALSE,
	object       BYTEA    NOT NULL,
	request      BYTEA,
	place        BIGINT NOT NULL DEFAULT 0,
	owner        TEXT    NOT NULL DEFAULT '',
	lease_until  BIGINT NOT NULL DEFAULT 0,
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
	key          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant       BYTEA    NOT NULL,
	id           TEXT    NOT NULL,
	type         TEXT    NOT NULL,
	response     BIGINT,
	conversation BIGINT,
	output       BOOLEAN NOT NULL,
	bytes        BIGINT NOT NULL,
	body         BYTEA    NOT NULL
);
CREATE INDEX items_by_id ON items (tenant, id);
CREATE INDEX items_by_response ON items (response, key) WHERE response IS NOT NULL;
CREATE INDEX items_by_conversation ON items (conversation, key) WHERE conversation IS NOT NULL;

CREATE TABLE events (
	response BIGINT NOT NULL,
	first    BIGINT NOT NULL,
	last     BIGINT NOT NULL,
	body     BYTEA    NOT NULL,
	PRIMARY KEY (response, first)
);

-- Answers to questions for approval that have been used.
CREATE TABLE approvals (
	tenant  BYTEA NOT NULL,
	id      TEXT NOT NULL,
	used_at BIGINT NOT NULL,
	PRIMARY KEY (tenant, id)
);

-- +goose Down
DROP TABLE approvals;
DROP TABLE events;
DROP TABLE items;
DROP TABLE responses;
DROP TABLE conversations;
DROP TABLE seal_keys;
