"""The memory in the hands of agent frameworks.

``functions`` is the memory as three plain functions with JSON schemas, for a program or for any loop that lets a model
call tools; ``langgraph`` is it as a store of LangGraph's, for which the extra ``langgraph`` is needed.
"""
