package plugins

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// brokerInfoName is the file in a job's directory in which gLite's broker told
// the job where it had been sent and where its data is.
const brokerInfoName = ".BrokerInfo"

// brokerInfoVariables tell where the file is: gLite's name and its
// predecessor's, in the order in which glite-brokerinfo looks at them.
var brokerInfoVariables = []string{"GLITE_WMS_RB_BROKERINFO", "EDG_WL_RB_BROKERINFO"}

// BrokerInfo writes the file of a job for a resource as gLite's broker did, a
// record with
//
//	ComputingElement    [ name = CE; CloseStorageElements = { [ name = SE; mount = path ] ... } ]
//	InputFNs            { [ name = logical name; SFNs = { } ] ... }
//	StorageElements     those that hold a replica
//	DataAccessProtocol, VirtualOrganisation   of the job's description
//
// No catalogue is asked, so that nothing is known of replicas: SFNs and
// StorageElements are empty lists.
func BrokerInfo(job *jdl.Job, r *glue.Resource) string {
	names := make([]classad.Expr, len(job.InputData))
	for i, name := range job.InputData {
		ad := textAd("name", name)
		ad.Set("SFNs", classad.NewList())
		names[i] = ad
	}
	ad := classad.NewAd()
	ad.Set("ComputingElement", computingElement(r))
	ad.Set("InputFNs", classad.NewList(names...))
	ad.Set("StorageElements", classad.NewList())
	if e, ok := job.Ad.Expr("DataAccessProtocol"); ok {
		ad.Set("DataAccessProtocol", e)
	}
	if job.VO != "" {
		ad.Set("VirtualOrganisation", classad.NewLiteral(classad.StringValue(job.VO)))
	}
	return (&jdl.Job{Ad: ad}).Text()
}

func computingElement(r *glue.Resource) *classad.Ad {
	close := make([]classad.Expr, len(r.CloseSEs))
	for i, b := range r.CloseSEs {
		ad := textAd("name", b.SE)
		if b.Mount != "" {
			ad.Set("mount", classad.NewLiteral(classad.StringValue(b.Mount)))
		}
		if free := b.Attrs["GlueSAStateAvailableSpace"]; len(free) > 0 {
			ad.Set("freespace", classad.NewLiteral(classad.StringValue(free[0])))
		}
		close[i] = ad
	}
	id := r.CEID
	if id == "" {
		id, _, _ = strings.Cut(r.ID, "#") // a VO's view is of the same CE
	}
	ad := textAd("name", id)
	ad.Set("CloseStorageElements", classad.NewList(close...))
	return ad
}

// textAd is a record with one text in it.
func textAd(name, text string) *classad.Ad {
	ad := classad.NewAd()
	ad.Set(name, classad.NewLiteral(classad.StringValue(text)))
	return ad
}

// IsBrokerInfoVariable reports whether a variable of a job is one that names
// the file. A back-end that knows the job's directory gives it the whole path,
// as gLite's job wrapper did; else the name is relative to where the job starts.
func IsBrokerInfoVariable(v jdl.EnvVar) bool {
	return v.Value == brokerInfoName && slices.Contains(brokerInfoVariables, v.Name)
}

// WithBrokerInfo is the job with the file among its input files, and the
// variables that name it in its environment. A job that brings its own file, or
// sets a variable, keeps it.
func WithBrokerInfo(job *jdl.Job, text string) *jdl.Job {
	if text == "" || slices.ContainsFunc(job.InputSandbox, func(f jdl.InputFile) bool { return f.Name == brokerInfoName }) {
		return job
	}
	with := *job
	with.InputSandbox = append(slices.Clone(job.InputSandbox), jdl.InputFile{Name: brokerInfoName, Text: text})
	with.Environment = slices.Clone(job.Environment)
	for _, name := range brokerInfoVariables {
		if !slices.ContainsFunc(job.Environment, func(v jdl.EnvVar) bool { return v.Name == name }) {
			with.Environment = append(with.Environment, jdl.EnvVar{Name: name, Value: brokerInfoName})
		}
	}
	return &with
}

// maxSearched is how much of an input file is looked at for the word, in bytes.
const maxSearched = 64 << 10

// BrokerInfoReaders finds the jobs that read the file. It remembers what it has
// read of input files; the zero value is ready for use by one goroutine.
type BrokerInfoReaders struct{ files map[string]bool }

// Wants reports whether a job has input data or names BrokerInfo: in its
// arguments, its environment, the files it brings back, or one of its own input
// files.
func (s *BrokerInfoReaders) Wants(job *jdl.Job) bool {
	if job.Dialect == jdl.DIRAC {
		return false // its input data is DIRAC's affair
	}
	if _, ok := job.Ad.Expr("DataAccessProtocol"); ok || len(job.InputData) > 0 {
		return true
	}
	said := slices.Concat([]string{job.Executable, job.Prologue, job.Epilogue}, job.Args, job.PrologueArgs, job.EpilogueArgs)
	for _, v := range job.Environment {
		said = append(said, v.Name, v.Value)
	}
	for _, f := range job.OutputSandbox {
		said = append(said, f.Name)
	}
	return slices.ContainsFunc(said, namesBrokerInfo) || slices.ContainsFunc(job.InputSandbox, s.reads)
}

func namesBrokerInfo(s string) bool { return strings.Contains(strings.ToLower(s), "brokerinfo") }

func (s *BrokerInfoReaders) reads(f jdl.InputFile) bool {
	if f.IsURL() {
		return false
	}
	found, known := s.files[f.Source]
	if !known {
		found = fileNamesBrokerInfo(f)
		if s.files == nil {
			s.files = map[string]bool{}
		}
		s.files[f.Source] = found
	}
	return found
}

// fileNamesBrokerInfo takes a file that cannot be read for one that does not:
// its back-end will say so.
func fileNamesBrokerInfo(f jdl.InputFile) bool {
	in, _, err := f.Open()
	if err != nil {
		return false
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxSearched))
	return err == nil && bytes.Contains(bytes.ToLower(text), []byte("brokerinfo"))
}
