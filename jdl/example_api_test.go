package jdl_test

import (
	"fmt"
	"strings"

	"gridbroker/jdl"
)

// What is suspicious in a description, without running anything.
func ExampleLint() {
	for _, d := range jdl.Lint("job.jdl", []byte(`Executable = "/bin/ls"; Requirements = other.GlueCEPolicyMaxCPUTime > 86400;`)) {
		fmt.Println(d.Severity, d.Code, d.Pos.Col, d.Msg)
	}
	// Output:
	// warning unit 71 GlueCEPolicyMaxCPUTime counts minutes: 86400 are 60 days
}

// limits is the other side of a match without being a record.
type limits map[string]int64

func (l limits) Lookup(name string) (jdl.Value, bool) {
	n, ok := l[strings.ToLower(name)]
	return jdl.IntValue(n), ok
}

// Anything that answers for names can be the other side.
func ExampleScope() {
	e, err := jdl.ParseExpr("", []byte(`other.MaxMinutes >= 60 && isUndefined(other.MaxJobs)`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(jdl.UnparseValue(jdl.NewAd().Eval(e, limits{"maxminutes": 90})))
	// Output:
	// true
}

// A record as JSON and back.
func ExampleAd_MarshalJSON() {
	ad, err := jdl.ParseAd("", []byte(`[a = 1; b = {"x", 2.5, true}; c = other.a > a]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := ad.MarshalJSON()
	fmt.Println(string(text), err)
	again, err := jdl.ParseAdJSON("", text)
	fmt.Println(jdl.Unparse(again), err)
	// Output:
	// {"a":1,"b":["x",2.50000000000000000e+00,true],"c":"/Expr(other.a > a)/"} <nil>
	// [ a = 1; b = { "x",2.500000000000000E+00,true }; c = other.a > a ] <nil>
}

// The attributes of the other side that an expression asks for.
func ExampleWalk() {
	e, err := jdl.ParseExpr("", []byte(`member("MPICH", other.Tags) && other.CPUs > 2 * Wanted`))
	if err != nil {
		fmt.Println(err)
		return
	}
	jdl.Walk(e, func(e jdl.Expr) bool {
		if s, ok := e.(*jdl.Select); ok {
			fmt.Println(s.Name)
		}
		return true
	})
	// Output:
	// Tags
	// CPUs
}
