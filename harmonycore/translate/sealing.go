package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// Sealing is how reasoning travels with a client who is not to read or to write it.
type Sealing struct {
	// Keys are nil where none are configured: then nothing is sealed, and nothing opens.
	Keys *seal.Keys
	// Lifetime is how long a sealed text opens, in seconds.
	Lifetime int64
	// Tenant is the value of the header that tells tenants apart.
	Tenant string
}

// reasoning adds an item of reasoning. What was sealed counts, and what the client shows beside it does not: only the former
// is known to be the model's.
func (b *builder) reasoning(item *openai.InputItem, at string, r *Request) *openai.Error {
	sealing := &r.env.Sealing
	if len(item.Sealed) == 0 || sealing.Keys == nil && len(item.Content) > 0 {
		b.assistant(harmony.Analysis, item.Content)
		return nil
	}
	if sealing.Keys == nil {
		return cannotOpen(at, "this gateway has no keys for it")
	}
	text, err := sealing.Keys.Open(item.Sealed, sealing.bound(r.Model), r.env.Now)
	if err != nil {
		return cannotOpen(at, err.Error())
	}
	b.assistant(harmony.Analysis, []string{rawjson.Keep(text)})
	return nil
}

func cannotOpen(at, why string) *openai.Error {
	return openai.InvalidEncryptedContent(at+".encrypted_content", "The encrypted content of '"+at+"' cannot be opened: "+why+
		". Send the conversation again without this item.")
}

// bound is what the sealed reasoning of a model belongs to.
func (s *Sealing) bound(model string) seal.Bound { return seal.Bound{Model: model, Tenant: s.Tenant} }

// seal is the text as an encrypted_content, which is null where there is nothing to seal it with.
func (s *Sealing) seal(text []byte, model string, now int64) []byte {
	if s.Keys != nil {
		if sealed, err := s.Keys.Seal([]byte{'"'}, text, s.bound(model), now+s.Lifetime); err == nil {
			return append(sealed, '"')
		}
	}
	return []byte("null")
}
