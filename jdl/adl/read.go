package adl

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"gridbroker/jdl"
	"gridbroker/jdl/arex"
	"gridbroker/jdl/classad"
)

// adlIn is an ActivityDescription as it is read: names without namespace.
type adlIn struct {
	Name string `xml:"ActivityIdentification>Name"`
	App  struct {
		Executable  adlProgram    `xml:"Executable"`
		Input       string        `xml:"Input"`
		Output      string        `xml:"Output"`
		Error       string        `xml:"Error"`
		Environment []adlVariable `xml:"Environment"`
		Pre         []adlProgram  `xml:"PreExecutable"`
		Post        []adlProgram  `xml:"PostExecutable"`
		Rerun       *int64        `xml:"Rerun"`
		Other       []xmlName     `xml:",any"`
	} `xml:"Application"`
	Resources struct {
		RTE []struct {
			Name     string     `xml:"Name"`
			Version  adlVersion `xml:"Version"`
			Options  []string   `xml:"Option"`
			Optional string     `xml:"optional,attr"`
		} `xml:"RuntimeEnvironment"`
		Memory   int64     `xml:"IndividualPhysicalMemory"`
		Virtual  int64     `xml:"IndividualVirtualMemory"`
		Disk     int64     `xml:"DiskSpaceRequirement"`
		Slots    adlSlots  `xml:"SlotRequirement"`
		Queue    string    `xml:"QueueName"`
		CPUTime  int64     `xml:"IndividualCPUTime"`
		TotalCPU int64     `xml:"TotalCPUTime"`
		Wall     int64     `xml:"WallTime"`
		Platform string    `xml:"Platform"`
		Access   string    `xml:"NodeAccess"`
		Other    []xmlName `xml:",any"`
	} `xml:"Resources"`
	Staging struct {
		Push    bool          `xml:"ClientDataPush"`
		Inputs  []adlInputIn  `xml:"InputFile"`
		Outputs []adlOutputIn `xml:"OutputFile"`
		Other   []xmlName     `xml:",any"`
	} `xml:"DataStaging"`
}

type adlInputIn struct {
	Name       string   `xml:"Name"`
	Sources    []adlURI `xml:"Source"`
	Executable bool     `xml:"IsExecutable"`
}

type adlOutputIn struct {
	Name    string   `xml:"Name"`
	Targets []adlURI `xml:"Target"`
}

type xmlName struct{ XMLName xml.Name }

// Read reads one ActivityDescription or a list of them as records. What no
// job of ours can say is a warning. The error is a *classad.Diagnostic.
func Read(file string, src []byte, warn func(*classad.Diagnostic)) ([]*classad.Ad, error) {
	dec := newDecoder(bytes.NewReader(src))
	fail := func(format string, args ...any) error {
		line, col := dec.InputPos()
		d := &classad.Diagnostic{Severity: classad.Fatal, File: file, Pos: classad.Pos{Line: line, Col: col}, Code: "adl", Msg: fmt.Sprintf(format, args...)}
		return d.ShowLine(string(src))
	}
	if err := longPart(file, src); err != nil {
		return nil, err
	}
	warn = classad.Warnings(string(src), warn)
	var ads []*classad.Ad
	places, err := elements(src)
	if err != nil {
		return nil, fail("%v", err)
	}
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fail("%v", xmlReason(err))
		}
		start, ok := tok.(xml.StartElement)
		if !ok || start.Name.Local == "ActivityDescriptions" {
			continue
		}
		if start.Name.Local == "JobDefinition" {
			return nil, fail("this is JSDL, which is not read here: write it as ADL, xRSL or JDL")
		}
		if start.Name.Local != "ActivityDescription" {
			return nil, fail("<%s> is not an ActivityDescription", start.Name.Local)
		}
		line, col := dec.InputPos()
		var doc adlIn
		if err := dec.DecodeElement(&doc, &start); err != nil {
			return nil, fail("%v", xmlReason(err))
		}
		ads = append(ads, doc.ad(classad.Pos{Line: line, Col: col}, teller{file, places[len(ads)], warn}))
	}
	if len(ads) == 0 {
		return nil, fail("no ActivityDescription in the text")
	}
	return ads, nil
}

// newDecoder reads Latin-1 and its part, ASCII, besides UTF-8.
func newDecoder(src io.Reader) *xml.Decoder {
	dec := xml.NewDecoder(src)
	dec.CharsetReader = func(name string, in io.Reader) (io.Reader, error) {
		switch strings.ToLower(name) {
		case "iso-8859-1", "latin1", "us-ascii", "ascii":
			return &latin1{in: bufio.NewReader(in)}, nil
		}
		return nil, fmt.Errorf("the encoding %s is not supported: write UTF-8", name)
	}
	return dec
}

// latin1 is a text in Latin-1 as UTF-8.
type latin1 struct {
	in   io.ByteReader
	rest []byte
}

// Read implements io.Reader.
func (l *latin1) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(l.rest) == 0 {
			b, err := l.in.ReadByte()
			if err != nil {
				return n, err
			}
			l.rest = utf8.AppendRune(nil, rune(b))
		}
		m := copy(p[n:], l.rest)
		n, l.rest = n+m, l.rest[m:]
	}
	return n, nil
}

// xmlReason drops the package's prefix and line, which are said elsewhere.
func xmlReason(err error) string {
	if se, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return se.Msg
	}
	if ne, ok := errors.AsType[*strconv.NumError](err); ok && ne.Func == "ParseBool" {
		return fmt.Sprintf("%q is neither true nor false", ne.Num)
	} else if ok {
		return fmt.Sprintf("%q is no whole number", ne.Num)
	}
	return strings.TrimPrefix(err.Error(), "xml: ")
}

// ad writes the description as a record of ours.
func (a *adlIn) ad(pos classad.Pos, tell teller) *classad.Ad {
	b := jdl.Builder{Ad: classad.Placed(classad.NewAd(), pos), Pos: pos}
	b.Str("JobName", a.Name)
	env := make([]jdl.EnvVar, len(a.App.Environment))
	for i, v := range a.App.Environment {
		env[i] = jdl.EnvVar(v)
	}
	args, env := arex.Restore(a.App.Executable.Args, env)
	program := arex.Program(&b, strings.TrimSpace(a.App.Executable.Path), args)
	b.Str("StdInput", a.App.Input)
	b.Str("StdOutput", a.App.Output)
	b.Str("StdError", a.App.Error)
	for _, v := range env {
		b.Add("Environment", v.Name+"="+v.Value)
	}
	hook(&b, "Prologue", a.App.Pre)
	hook(&b, "Epilogue", a.App.Post)
	if a.App.Rerun != nil {
		b.Set("RetryCount", classad.IntValue(*a.App.Rerun))
	}
	a.resources(&b)
	a.staging(&b, program)
	a.unused(tell)
	return b.Ad
}

// unused warns of what no job of ours can say.
func (a *adlIn) unused(tell teller) {
	for _, list := range [][]xmlName{a.App.Other, a.Resources.Other, a.Staging.Other} {
		for _, n := range list {
			if name := n.XMLName.Local; !adlSilent[name] {
				tell.warn(name, 0, "<"+name+"> is not used")
			}
		}
	}
	for i, rte := range a.Resources.RTE {
		if o := classad.Fold(strings.TrimSpace(rte.Optional)); o == "true" || o == "1" {
			tell.warn("RuntimeEnvironment", i, "optional is not used: a resource without "+strings.TrimSpace(rte.Name)+" is not taken")
		}
	}
	if a.Staging.Push {
		tell.warn("ClientDataPush", 0, "<ClientDataPush> is not used: over REST such a job would wait for ever")
	}
	for i := range tell.places["FailIfExitCodeNotEqualTo"] {
		tell.warn("FailIfExitCodeNotEqualTo", i, "<FailIfExitCodeNotEqualTo> is not used: a program fails when its exit code is not 0")
	}
	for _, name := range adlIgnored {
		for i := range tell.places[name] {
			tell.warn(name, i, "<"+name+"> is not used")
		}
	}
	if a.Resources.CPUTime != 0 && a.Resources.TotalCPU != 0 {
		tell.warn("TotalCPUTime", 0, "<TotalCPUTime> is not used beside <IndividualCPUTime>")
	}
	if len(a.App.Pre) > 1 {
		tell.warn("PreExecutable", 1, "only the first <PreExecutable> is run")
	}
	if len(a.App.Post) > 1 {
		tell.warn("PostExecutable", 1, "only the first <PostExecutable> is run")
	}
	sources, targets := 0, 0
	for _, f := range a.Staging.Inputs {
		if len(f.Sources) > 1 {
			tell.warn("Source", sources+1, f.Name+": only the first <Source> is used")
		}
		sources += len(f.Sources)
	}
	for _, f := range a.Staging.Outputs {
		if len(f.Targets) > 1 {
			tell.warn("Target", targets+1, f.Name+": only the first <Target> is used")
		}
		targets += len(f.Targets)
	}
}

func hook(b *jdl.Builder, name string, programs []adlProgram) {
	if len(programs) > 0 {
		b.Str(name, strings.TrimSpace(programs[0].Path))
		b.Str(name+"Arguments", jdl.JoinArgs(programs[0].Args))
	}
}

// adlIgnored are elements below those that are read.
var adlIgnored = []string{"Description", "Annotation", "ActivityOldID", "Mandatory", "CreationFlag", "UseIfFailure", "UseIfSuccess", "UseIfCancel"}

// adlSilent are elements that only concern the client that wrote them.
var adlSilent = map[string]bool{"DelegationID": true, "LoggingDirectory": true, "Type": true}

// adlVersion is the version of a runtime environment, and how the one that is there must relate to it.
type adlVersion struct {
	Require string `xml:"require,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// adlRelations are the values of require; without one, and with eq, the tag is named whole.
var adlRelations = map[string]string{"ge": ">=", "gt": ">", "le": "<=", "lt": "<", "ne": "!="}

func (a *adlIn) resources(b *jdl.Builder) {
	res := a.Resources
	for _, rte := range res.RTE {
		tag := strings.TrimSpace(rte.Name)
		if v := strings.TrimSpace(rte.Version.Text); v != "" {
			if op := adlRelations[rte.Version.Require]; op != "" {
				tag = jdl.EnvironmentWish{Name: tag, Op: op, Version: v}.String()
			} else {
				tag += "-" + v
			}
		}
		b.Add("RunTimeEnvironment", jdl.JoinArgs(append([]string{tag}, rte.Options...)))
	}
	b.Number("Memory", ceil(res.Memory, 20))
	b.Number("VirtualMemory", ceil(res.Virtual, 20))
	b.Number("Disk", ceil(res.Disk, 10))
	if res.Slots.Number > 1 {
		b.Number("CPUNumber", int64(res.Slots.Number))
	}
	b.Number("SMPGranularity", int64(res.Slots.PerHost))
	if res.Slots.Exclusive {
		b.Ad.Set("WholeNodes", classad.NewLiteral(classad.BoolValue(true)))
	}
	b.Str("Queue", strings.TrimSpace(res.Queue))
	cpu := res.CPUTime
	if cpu == 0 {
		cpu = res.TotalCPU / int64(max(1, res.Slots.Number))
	}
	b.Number("CPUTime", cpu)
	b.Number("WallTime", res.Wall)
	if p := strings.TrimSpace(res.Platform); p != "" {
		b.Require("other.GlueHostArchitecturePlatformType == " + jdl.Quote(p))
	}
	b.Access(strings.TrimSpace(res.Access))
}

// ceil is n in units of 2^shift, rounded up.
func ceil(n int64, shift uint) int64 { return max(0, n>>shift) + min(1, max(0, n)&(1<<shift-1)) }

func (a *adlIn) staging(b *jdl.Builder, program string) {
	for _, f := range a.Staging.Inputs {
		src := strings.TrimSpace(f.Name)
		if len(f.Sources) > 0 {
			src = strings.TrimSpace(f.Sources[0].URI)
		}
		b.Input(src, strings.TrimSpace(f.Name), f.Executable)
	}
	for _, f := range a.Staging.Outputs {
		url := ""
		if len(f.Targets) > 0 {
			url = strings.TrimSpace(f.Targets[0].URI)
		}
		b.Output(strings.TrimSpace(f.Name), url)
	}
	b.Finish(program)
}
