package affinity

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// Body returns the hash of the beginning of a request's conversation, where its tokens are not known: of the JSON text
// up to the end of the first message of the user, at most limit bytes of it. The body must be valid JSON. Anything
// without a conversation has the hash seed.
func Body(seed Hash, body []byte, limit int) Hash {
	members := rawjson.Members(body)
	for members.Next() {
		if !isPrompt(rawjson.View(members.Key)) {
			continue
		}
		switch members.Kind {
		case rawjson.String:
			return AppendText(seed, clip(members.Value, limit))
		case rawjson.Array:
			return messages(seed, members.Value, limit)
		}
	}
	return seed
}

// isPrompt reports whether a member of this name holds the conversation, or a prompt of the client's own.
func isPrompt(name string) bool {
	switch name {
	case "messages", "input", "prompt", "text", "input_ids":
		return true
	}
	return false
}

func messages(h Hash, array []byte, limit int) Hash {
	all := rawjson.Elements(array)
	for limit > 0 && all.Next() {
		if all.Kind != rawjson.Object {
			return AppendText(h, clip(array, limit)) // ids, or texts
		}
		h = AppendText(h, clip(all.Value, limit))
		if role, _ := rawjson.Find(all.Value, "role"); rawjson.View(role) == "user" {
			break
		}
		limit -= len(all.Value)
	}
	return h
}

func clip(text []byte, limit int) []byte { return text[:max(min(len(text), limit), 0)] }
