package rawjson

import "unsafe"

// After returns the position after want, which must stand in b at this position. It returns -1 if it does not. It makes
// no garbage under TinyGo, as bytes.HasPrefix does.
func After(b []byte, at int, want []byte) int {
	n := len(want)
	if len(b)-at < n {
		return -1
	}
	if n < 8 {
		for i := range n {
			if b[at+i] != want[i] {
				return -1
			}
		}
		return at + n
	}
	// Eight bytes at once. All lie before n, so there is nothing to check for each. The last eight overlap others.
	have, wanted := unsafe.Pointer(&b[at]), unsafe.Pointer(unsafe.SliceData(want))
	i := 0
	for ; i < n-32; i += 32 {
		x, y := (*[4]uint64)(unsafe.Add(have, i)), (*[4]uint64)(unsafe.Add(wanted, i))
		if (x[0]^y[0])|(x[1]^y[1])|(x[2]^y[2])|(x[3]^y[3]) != 0 {
			return -1
		}
	}
	for ; i < n-8; i += 8 {
		if *(*uint64)(unsafe.Add(have, i)) != *(*uint64)(unsafe.Add(wanted, i)) {
			return -1
		}
	}
	if *(*uint64)(unsafe.Add(have, n-8)) != *(*uint64)(unsafe.Add(wanted, n-8)) {
		return -1
	}
	return at + n
}
