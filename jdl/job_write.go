package jdl

import "time"

// PerNode is the number of slots on one node, 0, where the job says so.
func (d Demand) PerNode() int {
	if d.SlotsPerNode == 0 && d.Nodes > 0 && d.Slots > 1 {
		return (d.Slots + d.Nodes - 1) / d.Nodes
	}
	return d.SlotsPerNode
}

// Seconds is a time in whole seconds, rounded up.
func Seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// Minutes is a time in whole minutes, rounded up.
func Minutes(d time.Duration) int64 { return int64((d + time.Minute - 1) / time.Minute) }

// Texts lists all that comes from the user and ends up in a description.
func (j *Job) Texts() []string {
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
