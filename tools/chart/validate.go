package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/openapi"
	"sigs.k8s.io/kubectl-validate/pkg/openapiclient"
	"sigs.k8s.io/kubectl-validate/pkg/utils"
	"sigs.k8s.io/kubectl-validate/pkg/validator"
)

// defaultKubernetes is the newest version whose schemas kubectl-validate has with it.
const defaultKubernetes = "1.32"

// validateFiles checks each object of YAML files as an API server would when it is applied: unknown fields, types,
// required fields, and the rules of custom resources. It writes a line for each object that is right.
func validateFiles(out io.Writer, kubernetes, crds string, files []string) error {
	clients := []openapi.Client{openapiclient.NewOverlay(openapiclient.HardcodedPatchLoader(kubernetes),
		openapiclient.NewHardcodedBuiltins(kubernetes))}
	if crds != "" {
		folders, err := crdFolders(crds)
		if err != nil {
			return err
		}
		clients = append(clients, openapiclient.NewLocalCRDFiles(folders...))
	}
	v, err := validator.New(openapiclient.NewComposite(clients...))
	if err != nil {
		return err
	}
	var wrong []error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		documents, err := utils.SplitYamlDocuments(text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, document := range documents {
			if utils.IsEmptyYamlDocument(document) {
				continue
			}
			kind, object, err := v.Parse(document)
			if err == nil {
				err = v.Validate(object)
			}
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %s: %w", file, kind.Kind, err))
				continue
			}
			fmt.Fprintf(out, "%s\t%s\t%s\n", kind.GroupVersion(), kind.Kind, object.GetName())
		}
	}
	return errors.Join(wrong...)
}

// crdFolders returns the folders in a folder.
func crdFolders(folder string) ([]fs.FS, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var all []fs.FS
	for _, e := range entries {
		all = append(all, os.DirFS(filepath.Join(folder, e.Name())))
	}
	return all, nil
}
