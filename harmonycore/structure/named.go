package structure

import "github.com/harmonyedge/harmonyedge/harmonycore/contract"

// Named returns the adapter that a value of [contract.ModelSettings.Speaks] names, for a model whose servers take
// conversations. foreign are adapters that a program has added. It reports whether there is one.
func Named(name string, foreign map[string]New) (New, bool) {
	switch name {
	case contract.SpeaksAuto, "":
		return NewAuto, true
	case contract.SpeaksHarmony:
		return NewHarmony, true
	case contract.SpeaksChat:
		return NewChat, true
	case contract.SpeaksMarker:
		return NewMarker, true
	}
	if create := NewCalls(name); create != nil {
		return create, true
	}
	adapter, ok := foreign[name]
	return adapter, ok && adapter != nil
}
