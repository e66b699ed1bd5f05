"""The rules of the house: functions that yield one line for each broken rule."""
