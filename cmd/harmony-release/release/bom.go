package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// vocabularyFile is the one part of program and filter that is neither source nor module.
const vocabularyFile = "harmonycore/tokenizer/o200k/o200k.vocab"

// writeBOM writes the bill of materials: every program and the filter with its checksum, and what they consist of.
func writeBOM(p *Parts, folder string) error {
	bom, err := p.bom()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return err
	}
	return write(folder, p.name(productName, ".cdx.json"), out.Bytes())
}

func (p *Parts) bom() (*cdx.BOM, error) {
	vocabulary, err := p.read(vocabularyFile)
	if err != nil {
		return nil, err
	}
	product := cdx.Component{BOMRef: "product", Type: cdx.ComponentTypeApplication, Name: productName,
		Version: p.Build.Version, Description: summary, PackageURL: "pkg:golang/" + modulePath + "@" + p.Build.Tag(),
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: license}}}}
	data := built(cdx.ComponentTypeData, "o200k.vocab", "", vocabulary)
	data.Description = "the vocabulary of the gpt-oss models, see NOTICE"
	filter := built(cdx.ComponentTypeApplication, "harmony-filter.wasm", p.Build.Version, p.Filter)
	components := []cdx.Component{data, filter}
	dependencies := []cdx.Dependency{{Ref: filter.BOMRef, Dependencies: refs(p.FilterModules, data.BOMRef)}}
	parts := []string{filter.BOMRef}
	for _, program := range p.Programs {
		c := built(cdx.ComponentTypeApplication, "harmony-"+program.Platform.String(), p.Build.Version, program.Content)
		components, parts = append(components, c), append(parts, c.BOMRef)
		dependencies = append(dependencies,
			cdx.Dependency{Ref: c.BOMRef, Dependencies: refs(p.ProgramModules, data.BOMRef, filter.BOMRef)})
	}
	dependencies = append(dependencies, cdx.Dependency{Ref: product.BOMRef, Dependencies: &parts})
	for _, m := range p.modules() {
		components = append(components, cdx.Component{BOMRef: reference(m), Type: cdx.ComponentTypeLibrary, Name: m.Path,
			Version: m.Version, PackageURL: reference(m)})
	}
	var tools []cdx.Component
	for _, t := range p.Tools {
		tools = append(tools, cdx.Component{Type: cdx.ComponentTypeApplication, Name: t.Name, Version: t.Version})
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = p.serial()
	bom.Metadata = &cdx.Metadata{Timestamp: p.Time.UTC().Format(time.RFC3339), Component: &product,
		Tools: &cdx.ToolsChoice{Components: &tools}}
	bom.Components, bom.Dependencies = &components, &dependencies
	return bom, nil
}

// built returns a component of these bytes.
func built(kind cdx.ComponentType, name, version string, content []byte) cdx.Component {
	digest := sha256.Sum256(content)
	return cdx.Component{BOMRef: name, Type: kind, Name: name, Version: version,
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(digest[:])}}}
}

// reference returns a module's package URL.
func reference(m *debug.Module) string {
	return "pkg:golang/" + strings.ToLower(m.Path) + "@" + m.Version
}

// refs returns the references of modules, after others.
func refs(modules []*debug.Module, others ...string) *[]string {
	for _, m := range modules {
		others = append(others, reference(m))
	}
	return &others
}

// modules returns all modules that something consists of, each once, by name.
func (p *Parts) modules() []*debug.Module {
	all := slices.Concat(p.ProgramModules, p.FilterModules)
	slices.SortFunc(all, func(a, b *debug.Module) int { return strings.Compare(reference(a), reference(b)) })
	return slices.CompactFunc(all, func(a, b *debug.Module) bool { return reference(a) == reference(b) })
}

// serial returns the bill's number, which is another one for each build. A random one would make two releases of one
// commit differ. It has the form of a UUID of version 8 (RFC 9562), which leaves the rest to its maker.
func (p *Parts) serial() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s\n", modulePath, p.Build.Stamp())
	h.Write(p.Filter)
	for _, program := range p.Programs {
		h.Write(program.Content)
	}
	id := h.Sum(nil)[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
