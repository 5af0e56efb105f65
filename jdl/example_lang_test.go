package jdl_test

import (
	"fmt"

	"gridbroker/jdl"
)

// A job's Requirements, evaluated for one computing element.
func ExampleAd_Eval() {
	job, err := jdl.ParseAd("job.jdl", []byte(`[
		Memory = 2048;
		Requirements = other.GlueHostMainMemoryRAMSize >= Memory && other.GlueCEStateStatus == "production";
	]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	ce, err := jdl.ParseAd("ce", []byte(`[GlueHostMainMemoryRAMSize = 4096; GlueCEStateStatus = "Production"]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(job.EvalAttr("Requirements", ce).IsTrue())
	fmt.Println(jdl.UnparseValue(job.EvalAttr("Requirements", jdl.NewAd())))
	// Output:
	// true
	// undefined
}

// What is wrong is shown in its line.
func ExampleParseExpr_error() {
	_, err := jdl.ParseExpr("job.jdl", []byte(`other.A >= 1 and other.B`))
	fmt.Println(err)
	// Output:
	// job.jdl:1:14: unexpected "and" after the expression (write &&)
	//  | other.A >= 1 and other.B
	//  | .............^
}

// Sloppy files are read, with warnings.
func ExampleReadAd() {
	text := `
# my job
Executable = "/bin/ls";
OutputSandbox = {"std.out", "std.err",};
Requirements = IsMember("MPICH", other.Tags)`
	ad, err := jdl.ReadAd("job.jdl", []byte(text), jdl.WithWarnings(func(d *jdl.Diagnostic) { fmt.Println(d.Pos.Line, d.Msg) }))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(jdl.Unparse(ad))
	// Output:
	// 4 a comma follows the last element of a list
	// 5 IsMember is not a function and is read as Member
	// [ Executable = "/bin/ls"; OutputSandbox = { "std.out","std.err" }; Requirements = Member("MPICH",other.Tags) ]
}

// One job against many resources: who matches, and which clause said no.
func ExampleCompile() {
	var ces []*jdl.Ad
	for _, text := range []string{`[id = "a"; cpus = 8; rank = 3]`, `[id = "b"; cpus = 64; rank = 1]`, `[id = "c"]`} {
		ad, err := jdl.ParseAd("", []byte(text))
		if err != nil {
			fmt.Println(err)
			return
		}
		ces = append(ces, ad)
	}
	requirements, err := jdl.ParseExpr("", []byte(`other.cpus >= 8 && other.id != "a"`))
	if err != nil {
		fmt.Println(err)
		return
	}
	table := jdl.NewTable(ces)
	p := jdl.Compile(requirements, nil, table)
	fmt.Println(p.Match())
	for _, c := range p.Explain() {
		fmt.Printf("%s: %d true, %d false, %d undefined\n", jdl.Unparse(c.Expr), c.True, c.False, c.Undefined)
	}
	rank := jdl.NewUnary(jdl.OpMinus, jdl.NewSelect(jdl.NewAttrRef("other"), "rank"))
	fmt.Println(jdl.Compile(rank, nil, table).Numbers([]int32{0, 1}))
	// Output:
	// [1]
	// other.cpus >= 8: 2 true, 0 false, 1 undefined
	// other.id != "a": 2 true, 1 false, 0 undefined
	// [-3 -1]
}
