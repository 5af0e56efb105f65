package cmd_test

import (
	"go/ast"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// unasked are exported names that no other package asks for, each with why it
// is exported nevertheless. One that is used, or gone, leaves the list.
var unasked = map[string]string{
	"../environment.Init": "Main calls it where environments run", "../environment.Run": "Main calls it where environments run",
	"../environment.RunOptions": "what Run takes", "../environment.Launch": "what Run takes", "../environment.Outcome": "what Run tells",
	"../environment.Launcher": "the contract of a launcher", "../environment.MaxTagLength": "a bound that docs/environments.md tells",
	"../environment.DefaultBudget": "a default that Budget tells", "../environment.DefaultLaunchers": "a default that Definition tells",
	"../environment.PassedSignals": "a default that RunOptions tells",
	"../infosys.ARC":               "a source among others, by its kind", "../infosys.Archery": "the same", "../infosys.LDAP": "the same", "../infosys.Local": "the same",
	"../infosys.BadScheme": "a value of Reason in --json", "../infosys.BadURL": "the same", "../infosys.NotOwned": "the same", "../infosys.Elsewhere": "the same",
	"../infosys.Keyed":           "an interface that a source may have",
	"../infosys.DefaultDeadline": "the default that Collector tells", "../infosys.SnapshotSchema": "the name of a published format",
	"../broker/clock.Virtual": "the clock of tests and simulations", "../broker/clock.NewVirtual": "the same", "../broker/clock.Steady": "an interface that a clock may have",
	"../jdl/classad.AbsTimeValue": "a constructor for each kind of value", "../jdl/classad.RelTimeValue": "the same",
	"../plugins/slurm.Queue": "what QueueReader opens", "../rank.FormulaEnv": "the names of a formula, which expr reads by reflection",
	"../readahead/httpfile.File": "the way to read a file over HTTP ahead", "../readahead/httpfile.Open": "the same",
}

// unaskedPlaces are packages whose names are read otherwise than by name, or
// which are a whole for others.
var unaskedPlaces = map[string]string{
	"../plugins/wiki":             "the words of the WIKI protocol, for who writes the other side",
	"../forecast/managers/daemon": "frames of the managers' protocol, told apart by reflection",
	"../forecast/scheduler":       "what the page's templates draw and the API describes, by reflection",
	"../forecast/sim":             "words of scenarios",
	"../batch":                    "the model's own rooms: policies and predictors are chosen by name",
	"../batch/maui":               "the same",
	"../batch/predict":            "the same",
	"../forecast/agent":           "the agent's offer, as other programs read it",
	"../forecast/managers":        "the published rules beside ours",
}

// export is an exported name of a package, as it is declared.
type export struct {
	names []string // exported names of the same package that its declaration shows
	at    token.Position
	used  bool
}

// exports reads what packages declare for others, and which of it others name.
type exports struct {
	all   map[string]*export // by directory and name: "../jdl.Job"
	uses  []string           // the same, as other packages name them
	marks map[string]string  // by directory and unexported method: the interface that it closes
	kinds [][2]string        // of methods: directory and method, and the type that has it
}

// TestExportedNamesAreUsed: what is exported is asked for by another package, of
// the program or of tests that see it from outside as others do, or stands in
// the declaration of something that is. Of a list of constants, all stand for one.
func TestExportedNamesAreUsed(t *testing.T) {
	testbed.Computes(t)
	e := &exports{all: map[string]*export{}, marks: map[string]string{}}
	parsedAll(t, func(dir string, test bool, set *token.FileSet, f *ast.File) {
		e.named(dir, f)
		if !test && f.Name.Name != "main" && !strings.HasPrefix(dir, filepath.Join("..", "testdata")) {
			for _, d := range f.Decls {
				e.declared(dir, set, d)
			}
		}
	})
	if len(e.all) < 1000 {
		t.Fatalf("%d exported names: not all was read", len(e.all))
	}
	for _, k := range e.kinds { // what is of a closed interface belongs to it
		if i := e.marks[k[0]]; i != "" {
			e.all[i].names = append(e.all[i].names, k[1])
		}
	}
	for _, use := range e.uses {
		e.reach(use)
	}
	for _, name := range slices.Sorted(maps.Keys(e.all)) {
		x, why := e.all[name], unasked[name]
		if !x.used && why == "" && !failure(name) && unaskedPlaces[name[:strings.LastIndexByte(name, '.')]] == "" {
			t.Errorf("%s: %s is exported and no other package uses it", x.at, name)
		}
		if x.used && why != "" {
			t.Errorf("%s is used and need not be listed", name)
		}
	}
	for name := range unasked {
		if e.all[name] == nil {
			t.Errorf("%s is listed and not there", name)
		}
	}
}

// failure reports whether a name is that of an error, which callers may ask for
// whether or not ours do.
func failure(name string) bool {
	own := name[strings.LastIndexByte(name, '.')+1:]
	return strings.HasSuffix(own, "Error") || strings.HasPrefix(own, "Err")
}

// named notes which exported names of our packages a file selects.
func (e *exports) named(dir string, f *ast.File) {
	imports := map[string]string{}
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		ours, ok := strings.CutPrefix(path, "gridbroker/")
		if err != nil || !ok {
			continue
		}
		name := filepath.Base(ours)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = filepath.Join("..", ours)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && imports[x.Name] != "" {
				e.uses = append(e.uses, imports[x.Name]+"."+s.Sel.Name)
			}
		}
		return true
	})
}

// declared notes the exported names of a declaration.
func (e *exports) declared(dir string, set *token.FileSet, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			e.add(dir, set, d.Name, d.Type)
		} else if t := receiver(d.Recv.List[0].Type); ast.IsExported(t) && d.Name.IsExported() {
			e.show(dir, t, d.Type) // a method's signature belongs to its type
		} else if ast.IsExported(t) {
			e.kinds = append(e.kinds, [2]string{dir + "." + d.Name.Name, dir + "." + t})
		}
	case *ast.GenDecl:
		var group ast.Expr // the type of constants that are listed
		first := ""
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				e.add(dir, set, s.Name, s.Type)
				e.closes(dir, s)
			case *ast.ValueSpec:
				if s.Type != nil || d.Tok != token.CONST {
					group = s.Type
				}
				for _, name := range s.Names {
					e.add(dir, set, name, group)
					if d.Tok == token.CONST && name.IsExported() { // all stand for one
						if first == "" {
							first = name.Name
						}
						e.show(dir, first, name)
						e.show(dir, name.Name, ast.NewIdent(first))
					}
					if id, ok := group.(*ast.Ident); ok && d.Tok == token.CONST {
						e.show(dir, id.Name, name)
					}
				}
			}
		}
	}
}

func (e *exports) add(dir string, set *token.FileSet, name *ast.Ident, shown ast.Node) {
	if !name.IsExported() {
		return
	}
	key := dir + "." + name.Name
	if e.all[key] == nil {
		e.all[key] = &export{}
	}
	e.all[key].at = set.Position(name.Pos())
	if shown != nil {
		e.show(dir, name.Name, shown)
	}
}

// show notes the exported names in a node as shown by a name of the package.
func (e *exports) show(dir, by string, node ast.Node) {
	key := dir + "." + by
	if e.all[key] == nil {
		if !ast.IsExported(by) {
			return
		}
		e.all[key] = &export{}
	}
	ast.Inspect(node, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.IsExported() {
			e.all[key].names = append(e.all[key].names, dir+"."+id.Name)
		}
		return true
	})
}

// reach marks a name as used, and what its declaration shows.
func (e *exports) reach(name string) {
	x := e.all[name]
	if x == nil || x.used {
		return
	}
	x.used = true
	for _, shown := range x.names {
		e.reach(shown)
	}
}

// closes notes the unexported methods of an exported interface.
func (e *exports) closes(dir string, s *ast.TypeSpec) {
	i, ok := s.Type.(*ast.InterfaceType)
	if !ok || !s.Name.IsExported() {
		return
	}
	for _, m := range i.Methods.List {
		for _, name := range m.Names {
			if !name.IsExported() {
				e.marks[dir+"."+name.Name] = dir + "." + s.Name.Name
			}
		}
	}
}
