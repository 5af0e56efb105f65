// Package adl reads and writes the Activity Description Language of EMI-ES, as
// A-REX understands it.
package adl

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"gridbroker/jdl"
	"gridbroker/jdl/arex"
	"gridbroker/jdl/classad"
)

// Namespaces of the EMI Execution Service's Activity Description Language
// (EMI-ES 1.16) and of NorduGrid's additions.
const (
	adlNamespace       = "http://www.eu-emi.eu/es/2010/12/adl"
	nordugridNamespace = "http://www.nordugrid.org/es/2011/12/nordugrid-adl"
)

// Options are what a submission adds to a description.
type Options struct {
	Name         string // the job's name at the CE; "": Job.Name
	DelegationID string // credential already delegated to the CE
	Queue        string // "": the one the job asks for
	Restarts     int    // how often the CE lets the job go on when it has failed, if it is asked to
	Lossy        bool   // leave out what Losses names, instead of failing
	Alone        bool   // no broker stands before the CE: write Written, too
}

// Losses are what the job asks for and ADL cannot say.
func Losses(j *jdl.Job) []*classad.Diagnostic {
	var out []*classad.Diagnostic
	if j.Demand.GPUs > 0 {
		out = append(out, j.Loss("GPUNumber", "ask for a queue or a runtime environment that has them", "ADL cannot ask for GPUs"))
	}
	return append(append(out, j.LogicalLoss()...), j.ImageLoss()...)
}

// Notes are what an ADL of the job leaves to whoever submits it: local files that
// do not lie under their own names in dir, beside the description, for ADL does
// not say where they are.
func Notes(j *jdl.Job, dir string) []*classad.Diagnostic {
	var out []*classad.Diagnostic
	for _, f := range j.InputSandbox {
		if f.IsURL() || f.Text != "" || f.Source == filepath.Join(dir, f.Name) {
			continue
		}
		d := j.Loss("InputSandbox", "lay it beside the description under that name", "ADL calls %s %s, and does not say where it is", f.Source, f.Name)
		d.Severity = classad.Warning
		out = append(out, d)
	}
	return out
}

// Written names what only a broker acts on and ADL has a word for.
func Written(j *jdl.Job) []string {
	out := []string{"RetryCount"}
	if w, whole := j.Wishes(); whole && w.Host == "" {
		out = append(out, "Requirements")
	}
	return out
}

// Write writes the job as one ActivityDescription, without an XML declaration.
// Times are in seconds, memory in bytes, disk in kB (so A-REX reads it, where
// EMI-ES says bytes). Standard output and error are listed as output files,
// because A-REX deletes everything else. A prologue or epilogue is run by a
// small shell script around the program. It is an error when a text of the job
// cannot stand in XML, or is known to be spoilt by A-REX.
func Write(j *jdl.Job, o Options) ([]byte, error) {
	if err := jdl.LossError(Losses(j)); err != nil && !o.Lossy {
		return nil, err
	}
	if err := checkXML(j); err != nil {
		return nil, err
	}
	doc := adlDocument{NS: adlNamespace, NorduGrid: nordugridNamespace}
	doc.Identification.Name = cmp.Or(o.Name, j.Name)
	app, err := application(j)
	if err != nil {
		return nil, err
	}
	doc.Application = app
	switch {
	case o.Alone && j.Given("RetryCount"):
		doc.Application.Rerun = &j.RetryCount
	case o.Restarts > 0:
		doc.Application.Rerun = &o.Restarts
	}
	if doc.Resources = resources(j, o); o.Alone {
		doc.Resources.wish(j)
	}
	doc.Staging = staging(j, o)
	out, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing ADL: %w", err)
	}
	return append(out, '\n'), nil
}

// Bulk joins descriptions written by Write to one request.
func Bulk(descriptions ...[]byte) []byte {
	var b bytes.Buffer
	b.WriteString("<ActivityDescriptions>\n")
	for _, d := range descriptions {
		b.Write(d)
	}
	b.WriteString("</ActivityDescriptions>\n")
	return b.Bytes()
}

type adlDocument struct {
	XMLName        xml.Name `xml:"ActivityDescription"`
	NS             string   `xml:"xmlns,attr"`
	NorduGrid      string   `xml:"xmlns:nordugrid-adl,attr"`
	Identification struct {
		Name string `xml:"Name"`
	} `xml:"ActivityIdentification"`
	Application adlApplication `xml:"Application"`
	Resources   adlResources   `xml:"Resources"`
	Staging     adlStaging     `xml:"DataStaging"`
}

type adlProgram struct {
	Path string   `xml:"Path"`
	Args []string `xml:"Argument"`
}

// adlVariable is an EnvVar.
type adlVariable struct {
	Name  string `xml:"Name"`
	Value string `xml:"Value"`
}

type adlApplication struct {
	Executable  adlProgram    `xml:"Executable"`
	Input       string        `xml:"Input,omitempty"`
	Output      string        `xml:"Output,omitempty"`
	Error       string        `xml:"Error,omitempty"`
	Environment []adlVariable `xml:"Environment"`
	Rerun       *int          `xml:"nordugrid-adl:Rerun"`
}

type adlRTE struct {
	Name    string      `xml:"Name"`
	Version *adlVersion `xml:"Version"`
	Options []string    `xml:"Option"`
}

type adlSlots struct {
	Number    int  `xml:"NumberOfSlots"`
	PerHost   int  `xml:"SlotsPerHost,omitempty"`
	Exclusive bool `xml:"ExclusiveExecution,omitempty"`
}

type adlResources struct {
	Platform string    `xml:"Platform,omitempty"`
	RTE      []adlRTE  `xml:"RuntimeEnvironment"`
	Access   string    `xml:"NodeAccess,omitempty"`
	Memory   int64     `xml:"IndividualPhysicalMemory,omitempty"`
	Virtual  int64     `xml:"IndividualVirtualMemory,omitempty"`
	Disk     int64     `xml:"DiskSpaceRequirement,omitempty"`
	Slots    *adlSlots `xml:"SlotRequirement"`
	Queue    string    `xml:"QueueName,omitempty"`
	CPUTime  int64     `xml:"IndividualCPUTime,omitempty"`
	Wall     int64     `xml:"WallTime,omitempty"`
}

type adlStaging struct {
	Delegation string      `xml:"nordugrid-adl:DelegationID,omitempty"`
	Inputs     []adlInput  `xml:"InputFile"`
	Outputs    []adlOutput `xml:"OutputFile"`
}

type adlURI struct {
	URI string `xml:"URI"`
}

type adlInput struct {
	Name       string  `xml:"Name"`
	Source     *adlURI `xml:"Source"`
	Executable bool    `xml:"IsExecutable,omitempty"`
}

type adlOutput struct {
	Name   string  `xml:"Name"`
	Target *adlURI `xml:"Target"`
}

// maxArguments bounds the elements of a program's arguments: each takes some two hundred bytes until all are written. Linux
// starts no program with more: they have 6 MiB, and an empty one takes nine bytes (execve(2)).
const maxArguments = 700_000

func application(j *jdl.Job) (adlApplication, error) {
	program, args, env, err := arex.Command(j)
	if len(args) > maxArguments {
		return adlApplication{}, fmt.Errorf("writing ADL: %d arguments are more than any system starts a program with, and than %d", len(args), maxArguments)
	}
	a := adlApplication{
		Executable: adlProgram{Path: program, Args: args},
		Input:      j.StdInput, Output: j.StdOutput, Error: j.StdError,
	}
	for _, v := range env {
		a.Environment = append(a.Environment, adlVariable(v))
	}
	return a, err
}

func resources(j *jdl.Job, o Options) adlResources {
	d := j.Demand
	res := adlResources{
		Memory: d.Memory << 20, Virtual: d.VirtualMemory << 20, Disk: d.Disk << 10, Queue: cmp.Or(o.Queue, d.Queue),
		CPUTime: jdl.Seconds(d.CPUTime), Wall: jdl.Seconds(d.WallTime),
	}
	for _, tag := range d.RuntimeEnvironments {
		res.RTE = append(res.RTE, environment(tag, d.RuntimeOptions[tag]))
	}
	if d.Slots > 1 || d.SlotsPerNode > 0 || d.WholeNodes {
		res.Slots = &adlSlots{Number: max(1, d.Slots), PerHost: d.PerNode(), Exclusive: d.WholeNodes}
	}
	return res
}

// environment writes a tag whole, and a bound on a version with its relation.
func environment(tag string, options []string) adlRTE {
	wish := jdl.ParseEnvironmentWish(tag)
	for require, op := range adlRelations {
		if op == wish.Op {
			return adlRTE{wish.Name, &adlVersion{require, wish.Version}, options}
		}
	}
	return adlRTE{wish.Tag(), nil, options}
}

// wish writes the platform and the network that Requirements ask for.
func (r *adlResources) wish(j *jdl.Job) {
	w, _ := j.Wishes()
	r.Platform = w.Platform
	switch {
	case w.Inbound && w.Outbound:
		r.Access = "inoutbound"
	case w.Inbound:
		r.Access = "inbound"
	case w.Outbound:
		r.Access = "outbound"
	}
}

func staging(j *jdl.Job, o Options) adlStaging {
	s := adlStaging{Delegation: o.DelegationID}
	for _, f := range j.InputSandbox {
		in := adlInput{Name: f.Name, Executable: f.Executable}
		if f.IsURL() {
			in.Source = &adlURI{f.Source}
		}
		s.Inputs = append(s.Inputs, in)
	}
	for _, f := range j.Outputs() {
		if f.IsPattern() { // ADL has no patterns: the whole directory is kept
			s.keepAll()
			continue
		}
		out := adlOutput{Name: f.Name}
		if f.DestURL != "" {
			out.Target = &adlURI{f.DestURL}
		}
		s.Outputs = append(s.Outputs, out)
	}
	return s
}

// keepAll asks for everything in the job's directory to be kept.
func (s *adlStaging) keepAll() {
	for _, f := range s.Outputs {
		if f.Name == "/" {
			return
		}
	}
	s.Outputs = append(s.Outputs, adlOutput{Name: "/"})
}

// checkXML refuses texts that XML 1.0 cannot hold, for an encoder would replace
// them silently, and file names with blanks at an end, which readers cut off.
func checkXML(j *jdl.Job) error {
	var names []string
	for _, f := range j.InputSandbox {
		names = append(names, f.Name, f.Source)
	}
	for _, f := range j.Outputs() {
		names = append(names, f.Name, f.DestURL)
	}
	for _, s := range names {
		if strings.TrimSpace(s) != s {
			return fmt.Errorf("file %q: ADL does not keep a blank at the beginning or end of a name", s)
		}
	}
	for _, s := range j.Texts() {
		for i, r := range s {
			if r < ' ' && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF || r == utf8.RuneError && !utf8.ValidString(s) {
				return fmt.Errorf("%q: byte %d cannot be written in XML", s, i+1)
			}
		}
	}
	return nil
}
