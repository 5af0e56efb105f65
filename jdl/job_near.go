package jdl

import "gridbroker/jdl/classad"

// nearestAttr returns the attribute of a job that a name was probably meant
// to be, or "".
func nearestAttr(name string) string {
	names := make([]string, 0, len(attrTable))
	for _, def := range attrTable {
		if def.mode&inInternal == 0 {
			names = append(names, def.name)
		}
	}
	return classad.Nearest(name, names)
}
