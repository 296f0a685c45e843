package version

import (
	"fmt"
	"regexp"
)

// spelled matches every version that this package makes.
var spelled = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-rc\.(\d+)|-(dev)(?:\.(\d{14})\.(g[0-9a-f]{12}))?)?(\+dirty)?$`)

// Python returns a version as Python packages have it (PEP 440): 0.1.0, 0.1.0rc1, 0.1.0.dev20260102030405+g0123456789ab.
func Python(v string) (string, error) {
	m := spelled.FindStringSubmatch(v)
	if m == nil {
		return "", fmt.Errorf("%s has no form as a Python package's version; internal/version/VERSION must be X.Y.Z or "+
			"X.Y.Z-rc.N", v)
	}
	core, candidate, dev, at, commit, dirty := m[1], m[2], m[3], m[4], m[5], m[6]
	switch {
	case candidate != "":
		core += "rc" + candidate
	case at != "":
		core += ".dev" + at
	case dev != "":
		core += ".dev0"
	}
	switch {
	case commit != "" && dirty != "":
		core += "+" + commit + ".dirty"
	case commit != "":
		core += "+" + commit
	default:
		core += dirty
	}
	return core, nil
}
