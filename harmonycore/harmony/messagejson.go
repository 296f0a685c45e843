package harmony

import (
	"math"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// AppendMessages appends messages as an array in the reference's JSON (docs/harmony-format.md#json): absent fields are
// left out, and one text alone is a plain string.
func AppendMessages(dst []byte, messages []Message) []byte {
	w := messageJSON{dst: append(dst, '['), limit: math.MaxInt}
	for i := range messages {
		w.message(&messages[i], i == 0)
	}
	return append(w.dst, ']')
}

// messageJSON writes messages with commas between them.
type messageJSON struct {
	dst []byte
	// limit is the limit of dst, in bytes. exceeded reports whether dst would have exceeded it: then its content is
	// useless.
	limit    int
	exceeded bool
}

func (w *messageJSON) message(m *Message, first bool) {
	if !first {
		w.dst = append(w.dst, ',')
	}
	w.open(m.Role, m.Name, m.Recipient)
	if len(m.Content) == 1 && m.Content[0].System == nil && m.Content[0].Developer == nil {
		w.text(m.Content[0].Text)
	} else {
		w.dst = append(w.dst, '[')
		for i := range m.Content {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			w.content(&m.Content[i])
		}
		w.dst = append(w.dst, ']')
	}
	w.close(m.Channel, m.ContentType)
}

// open begins a message and stops before its content.
func (w *messageJSON) open(role Role, name, recipient Optional) {
	w.put(`{"role":"`)
	w.put(role.String())
	w.put(`"`)
	w.field("name", name)
	w.field("recipient", recipient)
	w.put(`,"content":`)
}

// close ends the message that open began.
func (w *messageJSON) close(channel, contentType Optional) {
	w.field("channel", channel)
	w.field("content_type", contentType)
	w.put(`}`)
}

// effortNames are the efforts as spelled in the reference's JSON.
var effortNames = [...]string{Low: "Low", Medium: "Medium", High: "High"}

func (w *messageJSON) content(c *Content) {
	switch {
	case c.System != nil:
		w.system(c.System)
	case c.Developer != nil:
		w.put(`{"type":"developer_content"`)
		w.field("instructions", c.Developer.Instructions)
		w.tools(c.Developer.Tools)
		w.put(`}`)
	default:
		w.put(`{"type":"text","text":`)
		w.text(c.Text)
		w.put(`}`)
	}
}

func (w *messageJSON) system(c *SystemContent) {
	w.put(`{"type":"system_content"`)
	w.field("model_identity", c.ModelIdentity)
	if e := c.Effort; e > 0 && int(e) < len(effortNames) {
		w.field("reasoning_effort", Some(effortNames[e]))
	}
	w.field("conversation_start_date", c.ConversationStartDate)
	w.field("knowledge_cutoff", c.KnowledgeCutoff)
	if c.Channels != nil {
		w.put(`,"channel_config":{"valid_channels":[`)
		for i, name := range c.Channels.Valid {
			if i > 0 {
				w.put(`,`)
			}
			w.text(name)
		}
		w.put(`],"channel_required":`)
		w.put(boolWord(c.Channels.Required))
		w.put(`}`)
	}
	w.tools(c.Tools)
	w.put(`}`)
}

func (w *messageJSON) tools(namespaces []Namespace) {
	if len(namespaces) == 0 {
		return
	}
	w.put(`,"tools":{`)
	for i := range namespaces {
		n := &namespaces[i]
		if i > 0 {
			w.put(`,`)
		}
		w.text(n.Key)
		w.put(`:{"name":`)
		w.text(n.Name)
		w.field("description", n.Description)
		w.put(`,"tools":[`)
		for j := range n.Tools {
			if w.exceeded {
				return
			}
			if j > 0 {
				w.put(`,`)
			}
			w.tool(&n.Tools[j])
		}
		w.put(`]}`)
	}
	w.put(`}`)
}

func (w *messageJSON) tool(t *ToolDescription) {
	w.put(`{"name":`)
	w.text(t.Name)
	w.put(`,"description":`)
	w.text(t.Description)
	if t.Parameters != nil {
		w.put(`,"parameters":`)
		w.dst = t.Parameters.AppendJSON(w.dst)
		w.exceeded = w.exceeded || len(w.dst) > w.limit
	}
	w.put(`}`)
}

func (w *messageJSON) field(name string, value Optional) {
	if !value.Set {
		return
	}
	w.put(`,"`)
	w.put(name)
	w.put(`":`)
	w.text(value.Value)
}

// text writes a string of any length. It does not read a string that is too long for the room left.
func (w *messageJSON) text(s string) {
	if w.exceeded = w.exceeded || len(w.dst) > w.limit-len(s); w.exceeded {
		return
	}
	w.dst = rawjson.AppendString(w.dst, s)
	w.exceeded = len(w.dst) > w.limit
}

func (w *messageJSON) put(s string) { w.dst = append(w.dst, s...) }

func boolWord(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
