package cli

import "os"

// OpenAIKeyVariable has the key of OpenAI's clients for the server of [OpenAIServer].
const OpenAIKeyVariable = "OPENAI_API_KEY"

// OpenAIServerVariables name a server for OpenAI's clients. The first that is set counts.
var OpenAIServerVariables = []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"}

// OpenAIServer returns the server that the environment names for OpenAI's clients, and the variable that does. Both are
// empty if it names none.
func OpenAIServer() (url, variable string) {
	for _, name := range OpenAIServerVariables {
		if url := os.Getenv(name); url != "" {
			return url, name
		}
	}
	return "", ""
}
