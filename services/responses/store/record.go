package store

import (
	"errors"
)

// clear is the first byte of a record that is not sealed. No sealed record begins with it.
const clear = 0

// The kinds of records. A sealed record opens only as the kind, tenant and id that it was sealed as, so no record can
// stand for another.
const (
	objectRecord   = "response"
	requestRecord  = "request"
	itemRecord     = "item"
	eventRecord    = "events"
	metadataRecord = "conversation"
	keyRecord      = "key"
)

// seal returns a body as it is stored.
func (s *Store) seal(kind string, t Tenant, id string, body []byte) ([]byte, error) {
	if s.keys == nil {
		return append([]byte{clear}, body...), nil
	}
	return s.keys.SealRecord(nil, body, covered(kind, t, id))
}

// open returns the body of a stored record.
func (s *Store) open(kind string, t Tenant, id string, record []byte) ([]byte, error) {
	var err error
	switch {
	case len(record) == 0:
		err = errors.New("the record is empty")
	case record[0] == clear:
		return record[1:], nil
	case s.keys == nil:
		err = errors.New("the record is encrypted, and there is no key")
	default:
		var body []byte
		if body, err = s.keys.OpenRecord(record, covered(kind, t, id)); err == nil {
			return body, nil
		}
		err = errors.New("the record was changed, or the key that sealed it is not among the keys")
	}
	return nil, &CorruptError{Record: kind + " " + id, Err: err}
}

func covered(kind string, t Tenant, id string) []byte {
	return append(append(append([]byte(kind), 0), t[:]...), id...)
}
