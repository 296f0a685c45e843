package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Servers are more tolerant about paths than proxies: of escaped slashes and dots, backslashes, parameters after a
// semicolon, and doubled slashes. The gateway decides by the path, so it refuses a path that can be read in two ways. A
// proxy that the control plane configures has already resolved most of them; other proxies may not have.

// apiRoots are the beginnings of the API's paths and of the servers' own paths to a model.
var apiRoots = append(contract.PromptPaths(), "/v1", contract.TokenizePath, contract.DetokenizePath,
	contract.TokenizerInfoPath, "/inference")

// rawRoots are the paths that take a prompt, and chatRoots the API's paths that take a conversation. Paths below them
// may do so too.
var (
	rawRoots  = contract.PromptPaths()
	chatRoots = [...]string{contract.ChatPath, contract.ResponsesPath}
	// ollamaRoots are Ollama's paths that take a conversation. Some clients choose Ollama's API by a model's name.
	ollamaRoots = [...]string{contract.OllamaChatPath}
	// messagesRoots are the paths of Anthropic's API, and modelsRoots those that both APIs have.
	messagesRoots = [...]string{contract.MessagesPath}
	modelsRoots   = [...]string{contract.ModelsPath}
)

// ambiguous reports whether a path, without its query, can be read in two ways and is, or may become, a path of the
// API.
func ambiguous(path string) bool {
	return hasTwoReadings(path) && (isUnder(strings.ToLower(path), apiRoots) || isUnder(resolved(path), apiRoots))
}

// hasLowercase reports whether a method has lower-case letters. HTTP/2 allows them, and some servers ignore the case.
func hasLowercase(method string) bool { return strings.ToUpper(method) != method }

// mayTakePrompt reports whether a server may read a path as one that takes a prompt.
func mayTakePrompt(path string) bool {
	path = resolved(path)
	return isUnder(path, rawRoots) || isUnder(path, chatRoots[:]) || isUnder(path, messagesRoots[:])
}

func isUnder(path string, roots []string) bool {
	for _, root := range roots {
		if rest, ok := strings.CutPrefix(path, root); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// hasTwoReadings reports whether a path contains something that programs read differently.
func hasTwoReadings(path string) bool {
	// A model's name may have slashes, which clients escape.
	name := strings.HasPrefix(path, contract.ModelsPath+"/")
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c < ' ', c == 0x7f, c == '\\':
			return true
		case c == '%':
			escaped, ok := hexByte(path, i+1)
			if !ok && name {
				continue // no model has such a name
			}
			if !ok || escaped < ' ' || escaped == 0x7f || escaped == '\\' {
				return true
			}
			if _, again := hexByte(path, i+3); escaped == '%' && again {
				return true
			}
			if (escaped == '/' || escaped == '.') && !name {
				return true
			}
		}
	}
	if name {
		path = unescaped(path)
	}
	for rest, first := path, true; ; first = false {
		segment, more, found := strings.Cut(rest, "/")
		if !first && (segment == "" && found || isDots(segment)) {
			return true
		}
		if !found {
			return false
		}
		rest = more
	}
}

// isDots reports whether a segment is "." or "..", with or without parameters after it.
func isDots(segment string) bool {
	if at := strings.IndexByte(segment, ';'); at >= 0 {
		segment = segment[:at]
	}
	return segment == "." || segment == ".."
}

// hexByte returns the byte for two hexadecimal digits of an escape.
func hexByte(path string, at int) (byte, bool) {
	if at+2 > len(path) {
		return 0, false
	}
	high, low := hexDigit(path[at]), hexDigit(path[at+1])
	return high<<4 | low, high < 16 && low < 16
}

// hexDigit returns the value of a hexadecimal digit, and more than 15 for any other character.
func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	default:
		return 16
	}
}

// maxEscapes is how often a path is unescaped: each server on its way may do so once.
const maxEscapes = 3

// resolved returns a path as the most tolerant server could read it, in lower case and without a slash at its end.
func resolved(path string) string {
	for range maxEscapes {
		if strings.IndexByte(path, '%') < 0 {
			break
		}
		path = unescaped(path)
	}
	path = strings.ToLower(strings.ReplaceAll(path, "\\", "/"))
	var out []string
	for segment := range strings.SplitSeq(path, "/") {
		if at := strings.IndexByte(segment, ';'); at >= 0 {
			segment = segment[:at]
		}
		switch segment {
		case "", ".":
		case "..":
			out = out[:max(len(out)-1, 0)]
		default:
			out = append(out, segment)
		}
	}
	return "/" + strings.Join(out, "/")
}
