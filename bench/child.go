package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Some scenarios kill what they measure. They start the program that runs them again, as a child: two variables of its
// environment say which part it plays, and with what.
const (
	childPart = "AXBENCH_PART"
	childWith = "AXBENCH_WITH" // JSON
)

// parts are what a child may be. It reads what its parent says from in, line by line, and tells out, a line at a time: the
// parent has every line whose write returned, however the child ends.
var parts = map[string]func(ctx context.Context, with []byte, in *bufio.Scanner, out io.Writer) error{
	"drill":        drillPart,
	"restart-fill": fillPart,
	"restart-open": openPart,
}

// Child plays the part that the environment asks for, and reports whether it asks for one, and the exit status. A program that
// runs scenarios calls it before anything else.
func Child() (status int, is bool) {
	name := os.Getenv(childPart)
	if name == "" {
		return 0, false
	}
	part := parts[name]
	if part == nil {
		fmt.Fprintf(os.Stderr, "bench: %s=%s is no part\n", childPart, name)
		return 2, true
	}
	if err := part(context.Background(), []byte(os.Getenv(childWith)), bufio.NewScanner(os.Stdin), os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %s: %v\n", name, err)
		return 1, true
	}
	return 0, true
}

// child is a process that plays a part. One goroutine has it.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  *bufio.Scanner // what it tells
	errors tail
}

// startChild starts a part. The child ends with ctx at the latest, and nobody else ends it than its parent.
func startChild(ctx context.Context, part string, with any) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	js, err := json.Marshal(with)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, self)}
	c.cmd.Env = append(os.Environ(), childPart+"="+part, childWith+"="+string(js))
	c.cmd.Stderr = &c.errors
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.lines = bufio.NewScanner(out)
	return c, c.cmd.Start()
}

// next returns the next line the child tells, or an error if it ends without one.
func (c *child) next() (string, error) {
	if c.lines.Scan() {
		return c.lines.Text(), nil
	}
	return "", errors.Join(fmt.Errorf("child %d ended without the line that was waited for", c.cmd.Process.Pid), c.lines.Err(), c.end())
}

// kill ends the child at once, as kill -9 does.
func (c *child) kill() { c.cmd.Process.Kill() }

// end closes the child's input, waits for it, and returns an error unless it went well.
func (c *child) end() error {
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("child: %w: %s", err, c.errors.text)
	}
	return nil
}

// killed reports whether a child that has ended was killed, by whomever.
func (c *child) killed() bool {
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(b []byte) (int, error) {
	const most = 4 << 10
	t.text = append(t.text, b...)
	t.text = t.text[max(len(t.text)-most, 0):]
	return len(b), nil
}

// micros is an instant of the wall clock as parent and child tell each other: in microseconds, the unit ax counts in.
func micros(t time.Time) int64 { return t.UnixMicro() }
