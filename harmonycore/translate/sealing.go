package translate

import (
	"errors"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// Sealing holds what is needed to seal reasoning: to give it to a client that can neither read nor change it
// (RATIONALE.md#49).
type Sealing struct {
	// Keys are nil if none are configured. Then reasoning is neither sealed nor opened.
	Keys *seal.Keys
	// Lifetime is how long a sealed text can be opened, in seconds.
	Lifetime int64
	// Tenant is the value of the request header that distinguishes tenants.
	Tenant string
}

// reasoning adds an item of reasoning.
func (b *builder) reasoning(item *openai.InputItem, r *Request) *openai.Error {
	content, opened, err := r.reasoningOf(item)
	switch {
	case err != nil:
		return err
	case opened != nil:
		b.sealedReasoning(opened)
		return nil
	case len(content) == 0:
		b.writing.silent++
	}
	b.assistant(harmony.Analysis, content)
	return nil
}

// reasoningOf returns the text of an item of reasoning. It uses the sealed text and ignores the visible text next to
// it, because only the sealed text is known to come from the model. Sealed text that does not open is ignored where
// there is visible text: a client may send that alone. Without any, a text that another service has sealed is nothing
// to the model, and one of this gateway's is an error, except in Messages. Reasoning that was sealed as ids is opened,
// and not returned as content.
func (r *Request) reasoningOf(item *openai.InputItem) ([]string, *openedReasoning, *openai.Error) {
	sealing := &r.env.Sealing
	if len(item.Sealed) == 0 || sealing.Keys == nil && len(item.Content) > 0 {
		return item.Content, nil, nil
	}
	ours := seal.Ours(item.Sealed) // opening overwrites it
	text, form, until, err := sealing.open(item.Sealed, r.Model, r.env.Now)
	if err != nil {
		return r.unopened(item, ours, err)
	}
	r.marks.until(until)
	switch form {
	case seal.Text:
		return []string{rawjson.Keep(text)}, nil, nil
	case seal.Message:
		if opened, ok := r.openReasoning(text); ok {
			return nil, opened, nil
		}
	}
	if r.API == MessagesAPI {
		return r.unopened(item, ours, seal.ErrForeign)
	}
	return nil, nil, cannotOpen(r.placeOf(item), seal.ErrForeign.Error())
}

// unopened returns what is used of reasoning whose seal does not open. ours reports whether it is this gateway's. In
// Messages no seal is an error: clients keep all of them, and would not get on (RATIONALE.md#239).
func (r *Request) unopened(item *openai.InputItem, ours bool, why error) ([]string, *openedReasoning, *openai.Error) {
	switch {
	case hasText(item.Content):
		if r.API == MessagesAPI {
			r.Ignored[openai.IgnoredSignature]++
		}
		return item.Content, nil, nil
	case !ours || r.API == MessagesAPI:
		r.Ignored[openai.IgnoredReasoning]++
		return nil, nil, nil
	}
	return nil, nil, cannotOpen(r.placeOf(item), why.Error())
}

// errNoKeys is why a gateway without keys opens nothing.
var errNoKeys = errors.New("this gateway has no keys for it")

// open is [seal.Keys.OpenUntil] for a model.
func (s *Sealing) open(sealed []byte, model string, now int64) (text []byte, form seal.Form, until int64, err error) {
	if s.Keys == nil {
		return nil, 0, 0, errNoKeys
	}
	return s.Keys.OpenUntil(sealed, s.bound(model), now)
}

// hasText reports whether any of the parts is not empty.
func hasText(parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return p != "" })
}

func cannotOpen(at, why string) *openai.Error {
	return openai.InvalidEncryptedContent(at+".encrypted_content",
		"The encrypted content of '"+at+"' cannot be opened: "+why+
			". Send the conversation again without this item.")
}

// bound returns the model and the tenant that the sealed reasoning is bound to.
func (s *Sealing) bound(model string) seal.Bound { return seal.Bound{Model: model, Tenant: s.Tenant} }

// seal returns the text as an encrypted_content in JSON. It is null if there are no keys.
func (s *Sealing) seal(text []byte, model string, now int64) []byte {
	return s.sealAs(seal.Text, text, model, now)
}

// sealAs is seal for a text of another form.
func (s *Sealing) sealAs(form seal.Form, text []byte, model string, now int64) []byte {
	if s.Keys != nil {
		if sealed, err := s.Keys.SealAs(form, []byte{'"'}, text, s.bound(model), now+s.Lifetime); err == nil {
			return append(sealed, '"')
		}
	}
	return []byte("null")
}
