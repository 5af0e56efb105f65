package wiki

import "fmt"

// Status codes as Slurm sends them; 0 and above is success.
const (
	CodeInitialising = -140
	CodeShortHeader  = -240
	CodeBadHeader    = -244
	CodeShortBody    = -246
	CodeFormat       = -300 // malformed or unknown command
	CodeStale        = -350 // TS too far from now
	CodeBadChecksum  = -422
	CodeRefused      = -700 // no such job, node or state
	CodeBackEnd      = -720
	CodeNoResources  = -910 // could not be started
)

// StatusError is a command that the resource manager did not carry out.
type StatusError struct {
	Code int
	Said string // the resource manager's words
}

func (e *StatusError) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("wiki status %d", e.Code)
	}
	return fmt.Sprintf("wiki status %d: %s", e.Code, e.Said)
}
