package chatserver

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// extra is a member of [Changes.ExtraBody]. given reports whether the client has its own.
type extra struct {
	name, value string
	given       bool
}

func extrasOf(o contract.Object) []extra {
	var extras []extra
	members := rawjson.Members([]byte(o))
	for members.Next() {
		extras = append(extras, extra{name: string(members.Key), value: string(appendValue(nil, &members))})
	}
	return extras
}

// AppendKwargs appends template arguments: the client's, and the operator's where the client gives none. Both
// are JSON objects.
func AppendKwargs(dst, client []byte, operators contract.Object) []byte {
	var l list
	dst = append(dst, '{')
	own := extrasOf(operators)
	members := rawjson.Members(client)
	for members.Next() {
		for i := range own {
			own[i].given = own[i].given || own[i].name == rawjson.View(members.Key)
		}
		dst = append(rawjson.AppendString(l.next(dst), rawjson.View(members.Key)), ':')
		dst = appendValue(dst, &members)
	}
	for i := range own {
		if !own[i].given {
			dst = append(rawjson.AppendString(l.next(dst), own[i].name), ':')
			dst = append(dst, own[i].value...)
		}
	}
	return append(dst, '}')
}

// AppendExtraBody appends the operator's members to a request's, each as ,"name":value, if given does not report
// that the request has them.
func AppendExtraBody(dst []byte, operators contract.Object, given func(name string) bool) []byte {
	for _, e := range extrasOf(operators) {
		if !isOwn(e.name) && !given(e.name) {
			dst = append(rawjson.AppendString(append(dst, ','), e.name), ':')
			dst = append(dst, e.value...)
		}
	}
	return dst
}
