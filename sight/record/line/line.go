package line

import (
	"encoding/json"

	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// Version is the value of [Request.Record]. A reader refuses a record with a greater one.
const Version = 1

// Line is one of the types of this package, by pointer.
type Line interface{ head() *Head }

// Head is what every line begins with.
type Head struct {
	Type string `json:"type"`
	// AtMS is the time since the request began, in milliseconds.
	AtMS float64 `json:"at_ms"`
}

func (h *Head) head() *Head { return h }

// Request is the first line of a record.
type Request struct {
	Head
	Record int `json:"record"`
	// Time is when the request began, as in RFC 3339.
	Time      string `json:"time"`
	Method    string `json:"method,omitempty"`
	Path      string `json:"path,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	// Body is the client's body: JSON, or a string with a text that is no JSON. It is absent if the request was not
	// recorded wholly.
	Body json.RawMessage `json:"body,omitempty"`
	// CutBytes is how many bytes of the body the recorder had no room for.
	CutBytes int `json:"cut_bytes,omitempty"`
}

// Sent is the request that a server got.
type Sent struct {
	Head
	tap.SentHead
	// PromptIDs is the prompt in token ids, and PromptText as text, for servers that take text. A server of conversations
	// has neither.
	PromptIDs  []uint32 `json:"prompt_ids,omitempty"`
	PromptText string   `json:"prompt_text,omitempty"`
	// Body is the body without the prompt. It is absent if the server got the client's body.
	Body     json.RawMessage `json:"body,omitempty"`
	CutBytes int             `json:"cut_bytes,omitempty"`
}

// Response is the head of a response: of the server's, or with the type [TypeAnswerHead] of what the client got.
type Response struct {
	Head
	tap.ResponseHead
}

// Message says that a message of the answer begins. It comes before the tokens with the message's content.
type Message struct {
	Head
	Choice      int    `json:"choice"`
	Role        string `json:"role"`
	Name        string `json:"name,omitempty"`
	Channel     string `json:"channel,omitempty"`
	Recipient   string `json:"recipient,omitempty"`
	ContentType string `json:"content_type,omitempty"`
}

// Tokens is what a server has generated for one choice.
type Tokens struct {
	Head
	Choice int `json:"choice"`
	// IDs are the tokens, and Texts what each of them stands for, control tokens by name. A token that is a part of a
	// character has U+FFFD in its text. The ids of a server of conversations have no Texts: its vocabulary may be any.
	IDs   []uint32 `json:"ids,omitempty"`
	Texts []string `json:"texts,omitempty"`
	// Text is what a server has sent that answers in text. If the line has IDs too, they come after it.
	Text string `json:"text,omitempty"`
	// Content is the text of messages that these tokens have completed, as the gateway's parser reads it. It belongs to
	// the last [Message] of the choice.
	Content string `json:"content,omitempty"`
}

// Recovery is a repair of the parser. Its kinds are in docs/inspect.md.
type Recovery struct {
	Head
	Choice int `json:"choice"`
	// Token is the token that the parser read last, counted from 0 in its choice. For a server that answers in text it is
	// an estimate.
	Token int    `json:"token"`
	Kind  string `json:"kind"`
}

// Piece is a piece of a body as text. The type [TypeChunk] is of what a server has sent that is no tokens, such as an
// error, and [TypeAnswer] of what the client got.
type Piece struct {
	Head
	Body string `json:"body"`
}

// End is the last line of a record.
type End struct {
	Head
	tap.EndReport
	// Cache compares the prompt with an earlier one of its conversation. It is absent if none is known.
	Cache *Cache `json:"cache,omitempty"`
	// LostLines is how many lines the recorder had no room for.
	LostLines int `json:"lost_lines,omitempty"`
	// Broken says why the record does not go from the request's beginning to its end. Empty: it does.
	Broken string `json:"broken,omitempty"`
}

// Cache says what a server could not read from its cache, and why.
type Cache struct {
	// Reason is "none" if nothing was missed, or what differs first from the earlier prompt (docs/inspect.md), or that
	// another server was asked, or that the same server has not kept what it had.
	Reason string `json:"reason"`
	// Earlier is the record of the earlier prompt.
	Earlier string `json:"earlier"`
	// Message is the message of the first difference in the prompt, counted from 1, and Was in the earlier one.
	Message int `json:"message,omitempty"`
	Was     int `json:"was,omitempty"`
	// Common is how many tokens the prompts have in common from the beginning, to the block. Cached is how many the
	// server has read from its cache, as it reports, or could have read at best if it reports none. It has computed
	// Computed tokens, of which the earlier prompt had Again, too.
	Common   int `json:"common"`
	Cached   int `json:"cached"`
	Computed int `json:"computed"`
	Again    int `json:"again"`
}

// The types of lines.
const (
	TypeRequest    = "request"
	TypeSent       = "sent"
	TypeHead       = "head"
	TypeMessage    = "message"
	TypeTokens     = "tokens"
	TypeRecovery   = "recovery"
	TypeChunk      = "chunk"
	TypeAnswerHead = "answer_head"
	TypeAnswer     = "answer"
	TypeEnd        = "end"
)
