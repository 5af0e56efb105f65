package broker

import (
	"gridbroker/jdl/classad"
)

func exprText(e classad.Expr) string   { return classad.Unparse(e) }
func valueText(v classad.Value) string { return classad.UnparseValue(v) }
