package classad_test

import (
	"fmt"
	"strings"

	"gridbroker/jdl/classad"
)

// limits is the other side of a match without being a record.
type limits map[string]int64

func (l limits) Lookup(name string) (classad.Value, bool) {
	n, ok := l[strings.ToLower(name)]
	return classad.IntValue(n), ok
}

// Anything that answers for names can be the other side.
func ExampleScope() {
	e, err := classad.ParseExpr("", []byte(`other.MaxMinutes >= 60 && isUndefined(other.MaxJobs)`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(classad.UnparseValue(classad.NewAd().Eval(e, limits{"maxminutes": 90})))
	// Output:
	// true
}

// A record as JSON and back.
func ExampleAd_MarshalJSON() {
	ad, err := classad.ParseAd("", []byte(`[a = 1; b = {"x", 2.5, true}; c = other.a > a]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := ad.MarshalJSON()
	fmt.Println(string(text), err)
	again, err := classad.ParseAdJSON("", text)
	fmt.Println(classad.Unparse(again), err)
	// Output:
	// {"a":1,"b":["x",2.50000000000000000e+00,true],"c":"/Expr(other.a > a)/"} <nil>
	// [ a = 1; b = { "x",2.500000000000000E+00,true }; c = other.a > a ] <nil>
}

// The attributes of the other side that an expression asks for.
func ExampleWalk() {
	e, err := classad.ParseExpr("", []byte(`member("MPICH", other.Tags) && other.CPUs > 2 * Wanted`))
	if err != nil {
		fmt.Println(err)
		return
	}
	classad.Walk(e, func(e classad.Expr) bool {
		if s, ok := e.(*classad.Select); ok {
			fmt.Println(s.Name)
		}
		return true
	})
	// Output:
	// Tags
	// CPUs
}
