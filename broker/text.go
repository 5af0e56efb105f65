package broker

import "gridbroker/jdl"

func exprText(e jdl.Expr) string   { return jdl.Unparse(e) }
func valueText(v jdl.Value) string { return jdl.UnparseValue(v) }
