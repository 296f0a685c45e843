package translate

import (
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// FunctionPrefix begins the recipient of a call of a function.
const FunctionPrefix = functions + "."

// inputMember is the only parameter of the function that stands for a custom tool, at servers without such tools.
const inputMember = "input"

// TakesText reports whether a function at the model's servers stands for a custom tool, whose input is plain text.
func (r *Request) TakesText(function string) bool {
	tool := r.tools.byRecipient(FunctionPrefix + function)
	return tool != nil && tool.custom
}

// CustomInput returns the input of a custom tool from the arguments of the function that stands for it. Models sometimes
// write the input itself: arguments of another form are the input. cut reports whether the end of the arguments is
// missing. The rest of a text is then not known to be whole, and is left out with it.
func CustomInput(arguments []byte, cut bool) []byte {
	if cut {
		return nil
	}
	if rawjson.Validate(arguments, rawjson.MaxDepth) == nil {
		if value, kind := rawjson.Find(arguments, inputMember); kind == rawjson.String {
			return []byte(rawjson.Unescape(value))
		}
	}
	return arguments
}
