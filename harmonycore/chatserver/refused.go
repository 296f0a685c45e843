package chatserver

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// refusedMembers are parameters of servers by which a client would get at what the operator has not offered: another
// model, a prompt without its template, other hosts, or what another client has sent.
var refusedMembers = [...]struct{ name, why string }{
	{"models", "name one model, in 'model'"},                      // OpenRouter
	{"fallbacks", "name one model, in 'model'"},                   // LiteLLM
	{"lora_path", "name the model in 'model'"},                    // SGLang
	{"chat_template", "the template is the operator's"},           // vLLM
	{"input_ids", "send the conversation in 'messages'"},          // SGLang
	{"session_params", "send the whole conversation"},             // SGLang
	{"custom_logit_processor", "it is code that the servers run"}, // SGLang
	{"kv_transfer_params", "the servers say these to each other"}, // vLLM
	{"bootstrap_host", "the servers say it to each other"},        // SGLang
	{"bootstrap_port", "the servers say it to each other"},        // SGLang
	{"bootstrap_room", "the servers say it to each other"},        // SGLang
}

// refuse returns the error for a member of a client's request that is one of refusedMembers, in whatever case.
func refuse(name string, m *rawjson.Items) *openai.Error {
	if m.Kind == rawjson.Null {
		return nil
	}
	for i := range refusedMembers {
		if r := &refusedMembers[i]; len(name) >= len(r.name) && strings.EqualFold(name, r.name) {
			return openai.Unsupported(r.name, "Unsupported parameter: '"+r.name+"' is not supported: "+r.why+".")
		}
	}
	return nil
}
