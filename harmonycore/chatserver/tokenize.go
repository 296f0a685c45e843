package chatserver

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// AppendBeginning begins a request with its model. The other members and the end follow.
func AppendBeginning(dst []byte, model string) []byte {
	return rawjson.AppendString(append(dst, `{"model":`...), model)
}

// HasMessages reports whether a request holds a conversation. One for the tokens of a text does not.
func HasMessages(body []byte) bool {
	_, kind := rawjson.Find(body, memberMessages)
	return kind > rawjson.Null
}
