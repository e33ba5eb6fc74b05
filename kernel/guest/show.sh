# SPDX-License-Identifier: GPL-2.0-only
# Example 5 against its adversary, under the stock rules and repaired; 32 s of the guest.
setup
echo "== stock rules: tau2 and tau4 fall behind for ever (lags_us)"
stock
example5_adversary
echo "== the paper's rules: what is lost is the price of the rules (kernel/README.md)"
paper
example5_adversary
echo "== without timer"
light
example5_adversary
echo "== the paper's rules, tau2 and tau4 with 98 % of a CPU each: they do not fall behind"
paper
example5_adversary 500 1.96
