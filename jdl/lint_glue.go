package jdl

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"gridbroker/jdl/classad"
)

// glueNames lists the attributes of GLUE Schema 1.3 (LDAP) and GLUE 2.0
// (GFD.147, LDAP rendering GFD.218), one a line: name, type (str, int, bool,
// time), and "list" when it may have several values and therefore always is
// a list. What LDAP renders as text but GFD.147 calls an ExtendedBoolean_t or
// a number has that type; a resource stands for many entities, so the names of
// its application environments are a list.
//
//go:embed glue_names.txt
var glueNames string

// glueAttr is what the schema says of an attribute.
type glueAttr struct {
	name string
	kind classad.Kind // String, Int, Bool
	list bool
}

// glueTable is the attributes of a resource by folded name.
type glueTable struct {
	by    map[string]glueAttr
	names []string
}

// moreNames are attributes a broker adds to a resource's.
const moreNames = `DataAccessCost int
CloseStorageElements str list
storage str list
AuthorizationCheck str
QueueName str
ce_id str
`

var theGlueTable = sync.OnceValue(newGlueTable)

// GLUEType is the type that an attribute of a GLUE 1.3 or GLUE 2.0 resource has
// in expressions (any case): String, Int or Bool, or a list of them. It is
// false for names outside of the schemas.
func GLUEType(name string) (kind classad.Kind, list, known bool) {
	a, known := theGlueTable().find(name)
	return a.kind, a.list, known
}

// GLUENames lists the attributes that GLUEType knows, in the schemas' spelling.
func GLUENames() []string { return slices.Clone(theGlueTable().names) }

func newGlueTable() *glueTable {
	t := &glueTable{by: map[string]glueAttr{}}
	for line := range strings.Lines(glueNames + moreNames) {
		f := strings.Fields(line)
		a := glueAttr{name: f[0], kind: classad.String, list: len(f) > 2}
		switch f[1] {
		case "int":
			a.kind = classad.Int
		case "bool":
			a.kind = classad.Bool
		}
		t.by[classad.Fold(a.name)] = a
		t.names = append(t.names, a.name)
	}
	return t
}

func (t *glueTable) find(name string) (glueAttr, bool) {
	a, ok := t.by[classad.Fold(name)]
	return a, ok
}

// nearest is the attribute of a resource that a name was probably meant to
// be, or "". A name without its schema's prefix counts as that name.
func (t *glueTable) Nearest(name string) string {
	low := classad.Fold(name)
	for _, n := range t.names {
		if len(low) > 7 && strings.HasPrefix(n, "GlueCE") && strings.HasSuffix(classad.Fold(n), low) {
			return n
		}
	}
	return classad.Nearest(name, t.names)
}

// attrUnit is the unit an attribute of a resource counts in.
func attrUnit(name string) demandUnit {
	low := classad.Fold(name)
	switch {
	case strings.HasPrefix(low, "gluecepolicymax") && strings.HasSuffix(low, "time"):
		return unitMinutes
	case strings.HasPrefix(low, "glue2computingshare") && strings.HasSuffix(low, "time"):
		return unitSeconds
	case strings.Contains(low, "memory") || strings.HasPrefix(low, "gluehostmainmemory"):
		return unitMB
	case low == "glue2computingsharemaxdiskspace":
		return unitGB
	}
	return unitNone
}
