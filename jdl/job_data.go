package jdl

import (
	"path"
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// data reads input data and its rules.
func data(r *jobReader) {
	j := r.job
	j.InputData = r.strs("InputData")
	if j.Dialect == DIRAC {
		j.InputData = lfns(j.InputData)
		if len(j.InputData) > 0 {
			r.warn(r.pos("InputData"), "no-effect", "", "InputData is not brought to the job: the program must open it itself")
		}
		return
	}
	for _, e := range r.entries("InputData") {
		scheme, _, _ := strings.Cut(e.text, ":")
		if !goodURL(r, "InputData", e) {
			continue
		}
		if !slices.Contains(catalogueSchemes, classad.Fold(scheme)) {
			r.fail(e.pos, "logical-name", "", "InputData: %q does not begin with lfn:, guid:, si-lfn: or si-guid:", e.text)
		}
	}
	if r.has("InputData") && r.has("DataRequirements") {
		r.failAttr("InputData", "conflict", "keep one of them", "InputData and DataRequirements exclude each other")
	}
	if (r.has("InputData") || r.has("DataRequirements")) && !r.has("DataAccessProtocol") {
		r.failAttr("InputData", "missing", `for example DataAccessProtocol = {"gsiftp"}`, "input data needs DataAccessProtocol")
	}
	dataRequirements(r)
}

// dataRequirements reads the records that replace InputData.
func dataRequirements(r *jobReader) {
	if !r.has("DataRequirements") {
		return
	}
	v := r.value("DataRequirements")
	vs, ok := v.List()
	if !ok {
		vs = []classad.Value{v}
	}
	for _, v := range vs {
		rec, ok := v.Record()
		if !ok {
			r.wrongType("DataRequirements", tRecords)
			return
		}
		for _, need := range []string{"InputData", "DataCatalogType"} {
			if !hasAttr(rec, need) {
				r.fail(rec.Pos(), "missing", "", "DataRequirements: a record without %s", need)
			}
		}
		r.job.InputData = append(r.job.InputData, stringsOf(rec.EvalAttr("InputData", nil))...)
	}
}

// stringsOf is a string, or the strings of a list.
func stringsOf(v classad.Value) []string {
	if s, ok := v.Str(); ok {
		return []string{s}
	}
	var out []string
	vs, _ := v.List()
	for _, v := range vs {
		if s, ok := v.Str(); ok {
			out = append(out, s)
		}
	}
	return out
}

// outputData adds the files of OutputData to the output: no catalogue is
// written here, so that they are brought back instead.
func outputData(r *jobReader) {
	if !r.has("OutputData") || r.cfg.stored {
		return
	}
	names := stringsOf(r.value("OutputData")) // DIRAC: names
	if r.job.Dialect != DIRAC {
		names = outputRecords(r)
	}
	for _, name := range names {
		if r.job.Dialect == DIRAC && (strings.HasPrefix(classad.Fold(name), "lfn:") || path.IsAbs(name)) {
			name = path.Base(name) // the job leaves it under the last part of its logical name
		}
		if !strings.Contains(name, ":") && r.outNames[path.Base(name)] == "" {
			addOutput(r, inputEntry{name, r.pos("OutputData")}, "")
		}
	}
	if !r.bad["outputdata"] {
		r.warn(r.pos("OutputData"), "no-effect", "", "OutputData is not sent to storage: its files come back with the output")
	}
}

// outputRecords reads gLite's OutputData: records with OutputFile.
func outputRecords(r *jobReader) []string {
	v := r.value("OutputData")
	vs, ok := v.List()
	if !ok {
		vs = []classad.Value{v}
	}
	var names []string
	for _, v := range vs {
		name, isText := v.Attr("OutputFile").Str()
		lfn, hasLFN := v.Attr("LogicalFileName").Str()
		switch {
		case v.Kind() != classad.Record:
			r.failAttr("OutputData", "type", "{ [ OutputFile = \"x\"; ] }", "OutputData must be a list of records")
		case !isText:
			r.failAttr("OutputData", "missing", "", "OutputData: a record without OutputFile")
		case hasLFN && !strings.HasPrefix(classad.Fold(lfn), "lfn:"):
			r.failAttr("OutputData", "logical-name", "", "OutputData: LogicalFileName %q does not begin with lfn:", lfn)
		default:
			names = append(names, name)
		}
	}
	return names
}
