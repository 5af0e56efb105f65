package classad_test

import (
	"fmt"

	"gridbroker/jdl/classad"
)

// A job's Requirements, evaluated for one computing element.
func ExampleAd_Eval() {
	job, err := classad.ParseAd("job.jdl", []byte(`[
		Memory = 2048;
		Requirements = other.GlueHostMainMemoryRAMSize >= Memory && other.GlueCEStateStatus == "production";
	]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	ce, err := classad.ParseAd("ce", []byte(`[GlueHostMainMemoryRAMSize = 4096; GlueCEStateStatus = "Production"]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(job.EvalAttr("Requirements", ce).IsTrue())
	fmt.Println(classad.UnparseValue(job.EvalAttr("Requirements", classad.NewAd())))
	// Output:
	// true
	// undefined
}

// What is wrong is shown in its line.
func ExampleParseExpr_error() {
	_, err := classad.ParseExpr("job.jdl", []byte(`other.A >= 1 and other.B`))
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
	ad, err := classad.ReadAd("job.jdl", []byte(text), classad.WithWarnings(func(d *classad.Diagnostic) { fmt.Println(d.Pos.Line, d.Msg) }))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(classad.Unparse(ad))
	// Output:
	// 4 a comma follows the last element of a list
	// 5 IsMember is not a function and is read as Member
	// [ Executable = "/bin/ls"; OutputSandbox = { "std.out","std.err" }; Requirements = Member("MPICH",other.Tags) ]
}

// One job against many resources: who matches, and what the matches are worth.
func ExampleCompile() {
	var ces []*classad.Ad
	for _, text := range []string{`[id = "a"; cpus = 8; rank = 3]`, `[id = "b"; cpus = 64; rank = 1]`, `[id = "c"]`} {
		ad, err := classad.ParseAd("", []byte(text))
		if err != nil {
			fmt.Println(err)
			return
		}
		ces = append(ces, ad)
	}
	requirements, err := classad.ParseExpr("", []byte(`other.cpus >= 8 && other.id != "a"`))
	if err != nil {
		fmt.Println(err)
		return
	}
	table := classad.NewTable(ces)
	p := classad.Compile(requirements, nil, table)
	fmt.Println(p.Filter([]int32{0, 1, 2}))
	rank, err := classad.ParseExpr("", []byte(`-other.rank`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range classad.Compile(rank, nil, table).Values([]int32{0, 1}) {
		fmt.Println(classad.UnparseValue(v))
	}
	// Output:
	// [1]
	// -3
	// -1
}
