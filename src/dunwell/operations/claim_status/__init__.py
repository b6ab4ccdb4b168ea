"""Why a claim has its status: the rules that applied, its steps and holds, and its timeline."""
