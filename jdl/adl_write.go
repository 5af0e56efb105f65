package jdl

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Namespaces of the EMI Execution Service's Activity Description Language
// (EMI-ES 1.16) and of NorduGrid's additions.
const (
	adlNamespace       = "http://www.eu-emi.eu/es/2010/12/adl"
	nordugridNamespace = "http://www.nordugrid.org/es/2011/12/nordugrid-adl"
)

// ADLOptions are what a submission adds to a description.
type ADLOptions struct {
	Name         string // the job's name at the CE; "": Job.Name
	DelegationID string // credential already delegated to the CE
	Queue        string // "": the one the job asks for
}

// ADL writes the job as one ActivityDescription, without an XML declaration.
// Times are in seconds, memory in bytes, disk in kB (so A-REX reads it, where
// EMI-ES says bytes). Standard output and error are listed as output files,
// because A-REX deletes everything else. A prologue or epilogue is run by a
// small shell script around the program. It is an error when a text of the job
// cannot stand in XML, or is known to be spoilt by A-REX.
func (j *Job) ADL(o ADLOptions) ([]byte, error) {
	if err := j.checkXML(); err != nil {
		return nil, err
	}
	doc := adlDocument{NS: adlNamespace, NorduGrid: nordugridNamespace}
	doc.Identification.Name = orElse(o.Name, j.Name)
	app, err := j.adlApplication()
	if err != nil {
		return nil, err
	}
	doc.Application = app
	doc.Resources = j.adlResources(o)
	doc.Staging = j.adlStaging(o)
	out, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing ADL: %w", err)
	}
	return append(out, '\n'), nil
}

// ADLBulk joins descriptions written by ADL to one request.
func ADLBulk(descriptions ...[]byte) []byte {
	var b bytes.Buffer
	b.WriteString("<ActivityDescriptions>\n")
	for _, d := range descriptions {
		b.Write(d)
	}
	b.WriteString("</ActivityDescriptions>\n")
	return b.Bytes()
}

func orElse(s, def string) string {
	if s == "" {
		return def
	}
	return s
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
}

type adlRTE struct {
	Name string `xml:"Name"`
}

type adlSlots struct {
	Number    int  `xml:"NumberOfSlots"`
	PerHost   int  `xml:"SlotsPerHost,omitempty"`
	Exclusive bool `xml:"ExclusiveExecution,omitempty"`
}

type adlResources struct {
	RTE     []adlRTE  `xml:"RuntimeEnvironment"`
	Memory  int64     `xml:"IndividualPhysicalMemory,omitempty"`
	Virtual int64     `xml:"IndividualVirtualMemory,omitempty"`
	Disk    int64     `xml:"DiskSpaceRequirement,omitempty"`
	Slots   *adlSlots `xml:"SlotRequirement"`
	Queue   string    `xml:"QueueName,omitempty"`
	CPUTime int64     `xml:"IndividualCPUTime,omitempty"`
	Wall    int64     `xml:"WallTime,omitempty"`
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

func (j *Job) adlApplication() (adlApplication, error) {
	program, args, env, err := j.arexCommand()
	a := adlApplication{
		Executable: adlProgram{Path: program, Args: args},
		Input:      j.StdInput, Output: j.StdOutput, Error: j.StdError,
	}
	for _, v := range env {
		a.Environment = append(a.Environment, adlVariable(v))
	}
	return a, err
}

func (j *Job) adlResources(o ADLOptions) adlResources {
	d := j.Demand
	res := adlResources{
		Memory: d.Memory << 20, Virtual: d.VirtualMemory << 20, Disk: d.Disk << 10, Queue: orElse(o.Queue, d.Queue),
		CPUTime: ceilSeconds(d.CPUTime), Wall: ceilSeconds(d.WallTime),
	}
	for _, tag := range d.RuntimeEnvironments {
		res.RTE = append(res.RTE, adlRTE{tag})
	}
	if d.Slots > 1 || d.SlotsPerNode > 0 || d.WholeNodes {
		res.Slots = &adlSlots{Number: max(1, d.Slots), PerHost: d.perNode(), Exclusive: d.WholeNodes}
	}
	return res
}

// perNode is the number of slots on one node, where the job says so.
func (d Demand) perNode() int {
	if d.SlotsPerNode == 0 && d.Nodes > 0 && d.Slots > 1 {
		return (d.Slots + d.Nodes - 1) / d.Nodes
	}
	return d.SlotsPerNode
}

func ceilSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func (j *Job) adlStaging(o ADLOptions) adlStaging {
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
func (j *Job) checkXML() error {
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
	for _, s := range j.texts() {
		for i, r := range s {
			if r < ' ' && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF || r == utf8.RuneError && !utf8.ValidString(s) {
				return fmt.Errorf("%q: byte %d cannot be written in XML", s, i+1)
			}
		}
	}
	return nil
}

// texts lists all that comes from the user and ends up in a description.
func (j *Job) texts() []string {
	d := j.Demand
	out := []string{j.Name, j.Executable, j.StdInput, j.StdOutput, j.StdError, j.Prologue, j.Epilogue, d.Queue}
	for _, list := range [][]string{j.Args, j.PrologueArgs, j.EpilogueArgs, d.RuntimeEnvironments} {
		out = append(out, list...)
	}
	for _, v := range j.Environment {
		out = append(out, v.Name, v.Value)
	}
	for _, f := range j.InputSandbox {
		out = append(out, f.Source, f.Name)
	}
	for _, f := range j.OutputSandbox {
		out = append(out, f.Name, f.DestURL)
	}
	return out
}
