package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
)

// comments are what the module's sources say of the fields of their structs.
type comments struct {
	root string
	of   map[string]map[string]string // by package path, by TYPE.FIELD
	err  error
}

// field is what is said of one field; "" where nothing is, or where the type is not of this module.
func (c *comments) field(t reflect.Type, name string) string {
	dir, ours := strings.CutPrefix(t.PkgPath(), "gridbroker/")
	if !ours || t.Name() == "" {
		return ""
	}
	if c.of[dir] == nil {
		c.of[dir] = c.read(dir)
	}
	typ, _, _ := strings.Cut(t.Name(), "[")
	if typ == "plain" { // glue.Resource without its methods
		typ = "Resource"
	}
	return c.of[dir][typ+"."+name]
}

func (c *comments) read(dir string) map[string]string {
	out := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(c.root, dir, "*.go"))
	if err != nil {
		c.err = err
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			c.err = err
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				addFields(out, spec.Name.Name, s)
			}
			return false
		})
	}
	return out
}

func addFields(out map[string]string, typ string, s *ast.StructType) {
	for _, f := range s.Fields.List {
		text := f.Comment.Text()
		if f.Doc != nil {
			text = f.Doc.Text()
		}
		for _, name := range f.Names {
			out[typ+"."+name.Name] = strings.Join(strings.Fields(text), " ")
		}
	}
}
