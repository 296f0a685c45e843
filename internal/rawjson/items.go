package rawjson

import "bytes"

// Items goes through the members of an object, or the elements of an array, of data that [Validate] has accepted. Other
// data has some items, or none. A variable of this type is declared before its loop and not in it: one for each
// iteration would be garbage.
type Items struct {
	// Key is a member's name, unescaped. It is nil in an array.
	Key []byte
	// Value is the member's or the element's value: a string without its quotes, as it is spelled, and any other value as
	// it stands.
	Value []byte
	Kind  Kind
	// End is where the value ends in the data, a string with its quotes.
	End int

	data   []byte
	at     int
	object bool
	// ends has where long values end. base is where data begins in the text that ends is of.
	ends *Ends
	base int
}

// Members returns the members of the object in data. Anything else has none.
func Members(data []byte) Items { return (*Ends)(nil).Members(data, 0) }

// Elements returns the elements of the array in data. Anything else has none.
func Elements(data []byte) Items { return (*Ends)(nil).Elements(data, 0) }

// Members is [Members] of a part of the text that begins at base, without looking for the ends of long values.
func (e *Ends) Members(part []byte, base int) Items { return items(part, '{', e, base) }

// Elements is [Elements] of a part of the text that begins at base, without looking for the ends of long values.
func (e *Ends) Elements(part []byte, base int) Items { return items(part, '[', e, base) }

func items(data []byte, bracket byte, ends *Ends, base int) Items {
	at := Space(data, 0)
	if byteAt(data, at) != bracket {
		at = len(data)
	}
	return Items{data: data, at: at, object: bracket == '{', ends: ends, base: base}
}

// Next goes to the next item. It reports whether there is one.
func (it *Items) Next() bool {
	switch byteAt(it.data, it.at) {
	case '{', '[', ',':
	default:
		return false
	}
	at := Space(it.data, it.at+1)
	it.at = len(it.data)
	if it.object {
		end := Skip(it.data, at)
		if byteAt(it.data, at) != '"' || end-at < 2 {
			return false // an empty object
		}
		it.Key = it.data[at+1 : end-1]
		if bytes.IndexByte(it.Key, '\\') >= 0 {
			it.Key = AppendUnescaped(nil, it.Key)
		}
		at = Space(it.data, Space(it.data, end)+1) // behind the colon
	}
	end := it.ends.Skip(it.data, it.base, at)
	if end <= at {
		return false // an empty array
	}
	it.Value, it.Kind, it.End = it.data[at:end], kindOf(it.data[at]), end
	if it.Kind == String {
		if end-at < 2 {
			return false
		}
		it.Value = it.data[at+1 : end-1]
	}
	it.at = Space(it.data, end)
	return true
}

// Find returns the value of the first member of an object in data with this name. Kind is 0 if there is none.
func Find(data []byte, name string) (value []byte, kind Kind) {
	it := Members(data)
	for it.Next() {
		if View(it.Key) == name {
			return it.Value, it.Kind
		}
	}
	return nil, 0
}

// kindOf returns the kind of the value that begins with c.
func kindOf(c byte) Kind {
	switch c {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	default:
		return Number
	}
}

// byteAt returns the byte at this position, or 0 after the end.
func byteAt(data []byte, at int) byte {
	if at < len(data) {
		return data[at]
	}
	return 0
}
