//go:build !unix

package testserver

import "os/exec"

func asOrdinaryUser(*exec.Cmd) {}

func giveToOrdinaryUser(...string) error { return nil }
