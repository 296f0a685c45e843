package items

import (
	"fmt"
	"math"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
)

// The memory that the values of a body take beside its text, in bytes. TestWeights measures it.
const (
	// memoryPerItem is for an element of a list in the body, such as an item or a tool.
	memoryPerItem = 2 << 10
	// memoryPerMember is for a member of the body, or of such an element, whose value stays as it is written.
	memoryPerMember = 256
	// memoryPerValue is for every value inside.
	memoryPerValue = 16
	// MemoryPerDecoded is for a value of a request that is decoded whole, as the gateway does.
	MemoryPerDecoded = 512
)

// maxMembers is how many members an item may have. The API's have 20 at most.
const maxMembers = 256

// Weigh checks that a body is a JSON object, and returns the memory that its values take beside its text. It decodes
// nothing, and takes no memory itself.
func Weigh(body []byte) (int64, *openai.Error) {
	values, err := rawjson.Count(body, rawjson.MaxDepth, math.MaxInt)
	if err != nil {
		return 0, notJSON(err)
	}
	at := rawjson.Space(body, 0)
	if body[at] != '{' {
		return 0, refusal.Bad(contract.CodeInvalidJSON, "", "The body is not a JSON object.")
	}
	items, members := 0, 0
	top := rawjson.Members(body[at:])
	for top.Next() {
		members++
		switch top.Kind {
		case rawjson.Object:
			members += membersOf(top.Value)
		case rawjson.Array:
			n, inside, failure := weighList(&top, openai.MaxValues-items-members)
			if failure != nil {
				return 0, failure
			}
			items, members = items+n, members+inside
		}
		if items+members > openai.MaxValues {
			return 0, errTooManyValues()
		}
	}
	inside := max(0, values-items-members)
	return memoryPerItem*int64(items) + memoryPerMember*int64(members) + memoryPerValue*int64(inside), nil
}

// weighList returns how many elements a list has, and how many members those have, or an error for more than most.
func weighList(list *rawjson.Items, most int) (items, members int, failure *openai.Error) {
	each := rawjson.Elements(list.Value)
	for each.Next() {
		if items++; each.Kind == rawjson.Object {
			n := membersOf(each.Value)
			if n > maxMembers {
				at := fmt.Sprintf("%s[%d]", openai.Clip(string(list.Key), refusal.MaxQuoted), items-1)
				return 0, 0, refusal.Bad(contract.CodeMaxValuesExceeded, at, fmt.Sprintf("Invalid '%s': %d members. "+
					"Expected at most %d.", at, n, maxMembers))
			}
			members += n
		}
		if items+members > most {
			return 0, 0, errTooManyValues()
		}
	}
	return items, members, nil
}

func membersOf(object []byte) (n int) {
	members := rawjson.Members(object)
	for members.Next() {
		n++
	}
	return n
}

func errTooManyValues() *openai.Error {
	return refusal.Bad(contract.CodeMaxValuesExceeded, "",
		fmt.Sprintf("The request holds more than %d items and members, "+
			"which is the limit. Send fewer of them.", openai.MaxValues))
}

// notJSON returns the error for a text that is not JSON as this service reads it.
func notJSON(err error) *openai.Error {
	code, param := contract.CodeInvalidJSON, ""
	if e, ok := err.(*rawjson.SyntaxError); ok {
		param = e.Member
		switch e.Kind {
		case rawjson.BadUTF8:
			code = contract.CodeInvalidUTF8
		case rawjson.TooDeep:
			code = contract.CodeMaxDepthExceeded
		default:
			param = ""
		}
	}
	return refusal.Bad(code, param, "The body is not a JSON object: "+err.Error()+".")
}
